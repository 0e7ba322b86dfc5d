// What the work wrote down: finished steps, the checkpoint, and the log, followed while it grows.
import { ArrowDownToLine } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Schemas } from "../../api";
import { Button, Json, Text } from "../../ui";
import styles from "./Task.module.css";

type Line = Schemas["Line"];

/** Steps that are done and will not be done again, each with what it returned. */
export function Steps({ lines }: { lines: readonly Line[] }) {
  const steps = lines.filter((line) => line.kind === "step");
  const checkpoint = lines.findLast((line) => line.kind === "checkpoint");
  if (steps.length === 0 && checkpoint === undefined) {
    return <p className="muted">None. What a handler does with ctx.step(…) or ctx.checkpoint(…) shows here.</p>;
  }
  return (
    <ol className={styles.steps}>
      {steps.map((line, index) => (
        <li key={`${line.name} ${index}`}>
          <details>
            <summary>
              <span className="muted">step {index + 1}</span> <Text>{line.name || "unnamed"}</Text>
            </summary>
            <Json value={line.value} label="step" />
          </details>
        </li>
      ))}
      {checkpoint !== undefined && (
        <li>
          <details>
            <summary>
              <span className="muted">checkpoint</span> <Text>for the next attempt</Text>
            </summary>
            <Json value={checkpoint.value} label="checkpoint" />
          </details>
        </li>
      )}
    </ol>
  );
}

/** The last lines of the log; it stays at the end unless somebody scrolled up. */
export function Log({ lines, live }: { lines: readonly Line[]; live: boolean }) {
  const log = lines.filter((line) => line.kind === "log");
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const count = log.length;
  const last = count === 0 ? null : textOf(log[count - 1] as Line);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new last line is what moves it
  useEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follows, count, last]);
  if (count === 0) {
    return (
      <p className="muted">
        {live ? "Empty. Lines appear here as the agent writes them." : "Empty. No agent wrote to it."}
      </p>
    );
  }
  return (
    <div className={styles.logFrame}>
      <div
        ref={box}
        className={styles.log}
        role="log"
        aria-label="Log"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        tabIndex={0}
        onScroll={({ currentTarget }) =>
          setFollows(currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight < 24)
        }
      >
        {log.map((line, index) => (
          <div key={index} className={styles.logLine}>
            <Text mono>{textOf(line)}</Text>
          </div>
        ))}
      </div>
      <div className={styles.logFoot}>
        <span className="muted">
          {count.toLocaleString("en-US")} lines{count >= 1_000 ? ", the last that are kept" : ""}
          {live ? (follows ? " · following" : " · not following") : ""}
        </span>
        {!follows && (
          <Button small icon={<ArrowDownToLine />} onClick={() => setFollows(true)}>
            Follow
          </Button>
        )}
      </div>
    </div>
  );
}

function textOf(line: Line): string {
  return typeof line.value === "string" ? line.value : JSON.stringify(line.value ?? null);
}
