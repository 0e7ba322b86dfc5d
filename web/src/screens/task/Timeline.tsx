// The task's life as a line: what it waited for, the queue, the work; each attempt branches off below.
import { cx, Duration, useNow } from "../../ui";
import { clockTime } from "../../ui/format";
import { type AttemptTimes, type EventTimes, type Kind, type Life, lifeOf, type Span, type TaskTimes } from "./spans";
import styles from "./Timeline.module.css";

const WORDS: Record<Kind, string> = {
  before: "before it was ready",
  queued: "in the queue",
  pause: "pause before the next try",
  claimed: "claimed, not started",
  run: "at work",
  judged: "being judged",
  asked: "waiting for an answer",
};

interface Props {
  task: TaskTimes;
  attempts: readonly AttemptTimes[];
  events: readonly EventTimes[];
}

export function Timeline({ task, attempts, events }: Props) {
  const now = useNow();
  const life = lifeOf(task, attempts, events, now);
  if (life === null) return null;
  const width = life.to - life.from;
  const place = (span: Span) => ({
    left: `${((span.from - life.from) / width) * 100}%`,
    width: `${((span.to - span.from) / width) * 100}%`,
  });
  const runs = life.spans.filter((span) => span.kind === "run" || span.kind === "claimed");
  return (
    <div className={styles.timeline}>
      <dl className={styles.sums}>
        <Sum name="Not ready" ms={life.waited} kind="before" />
        <Sum name="Queue delay" ms={life.queued} kind="queued" />
        <Sum name="Run time" ms={life.run} kind="run" />
      </dl>
      <div className={styles.tracks} role="img" aria-label={inWords(life.spans)}>
        <div className={styles.track}>
          {life.spans.map((span) => (
            <span
              key={`${span.kind} ${span.from}`}
              className={cx(styles.span, styles[span.kind], bad(span) && styles.bad, span.open && styles.open)}
              style={place(span)}
              title={titleOf(span, now)}
            />
          ))}
        </div>
        {runs.length > 1 &&
          runs.map((span) => (
            <div key={span.fence ?? span.from} className={styles.branch}>
              <span className={styles.stem} style={{ left: place(span).left }} />
              <span
                className={cx(styles.span, styles[span.kind], bad(span) && styles.bad, span.open && styles.open)}
                style={place(span)}
                title={titleOf(span, now)}
              />
              <span
                className={cx(styles.branchName, placeOf(span, life) === "in" && styles.within)}
                style={labelAt(span, life)}
              >
                {span.number ? `#${span.number}` : `claim ${span.fence}`} · {span.agent ?? "?"} ·{" "}
                {span.open ? "now" : span.outcome}
              </span>
            </div>
          ))}
      </div>
      <div className={styles.ends}>
        <span>{clockTime(life.from, now)}</span>
        <span>{life.spans.at(-1)?.open ? "now" : clockTime(life.to, now)}</span>
      </div>
    </div>
  );
}

function Sum({ name, ms, kind }: { name: string; ms: number; kind: Kind }) {
  return (
    <div className={styles.sum}>
      <dt>
        <span className={cx(styles.swatch, styles[kind])} aria-hidden />
        {name}
      </dt>
      <dd>
        <Duration seconds={ms / 1_000} />
      </dd>
    </div>
  );
}

/** Where the name of a branch fits: after it, before it, or in it. */
function placeOf(span: Span, life: Life): "after" | "before" | "in" {
  const width = life.to - life.from;
  if ((span.to - life.from) / width < 0.7) return "after";
  return (span.from - life.from) / width > 0.4 ? "before" : "in";
}

function labelAt(span: Span, life: Life) {
  const width = life.to - life.from;
  const place = placeOf(span, life);
  if (place === "before") return { right: `${((life.to - span.from) / width) * 100}%` };
  return { left: `${(((place === "in" ? span.from : span.to) - life.from) / width) * 100}%` };
}

const GOOD = new Set(["completed", "released", "suspended", "submitted"]);

function bad(span: Span): boolean {
  return span.outcome !== undefined && !GOOD.has(span.outcome);
}

function seconds(span: Span): string {
  const length = (span.to - span.from) / 1_000;
  return length < 10 ? `${length.toFixed(1)} s` : `${Math.round(length)} s`;
}

function titleOf(span: Span, now: number): string {
  const who = span.agent ? ` by ${span.agent}` : "";
  const how = span.outcome ? `, ${span.outcome}` : span.open ? ", still" : "";
  return `${WORDS[span.kind]}${who}${how}: ${seconds(span)} from ${clockTime(span.from, now)}`;
}

function inWords(spans: readonly Span[]): string {
  return spans
    .map((span) => `${WORDS[span.kind]}${span.outcome ? ` (${span.outcome})` : ""} ${seconds(span)}`)
    .join(", then ");
}
