// The attempts side by side: one column each, so that what differs between them is seen at once.
import { useState } from "react";
import type { Schemas } from "../../api";
import { Ago, Badge, Button, Count, cx, Duration, Money, Text, type Tone } from "../../ui";
import styles from "./Attempts.module.css";

type Attempt = Schemas["Attempt"];

const SHOWN = 8;
const TONES: Record<string, Tone> = {
  running: "cyan",
  claimed: "cyan",
  completed: "green",
  failed: "red",
  timed_out: "red",
  expired: "orange",
  rejected: "orange",
  rate_limited: "amber",
  submitted: "violet",
};

type Row = { name: string; cell: (attempt: Attempt, attempts: readonly Attempt[]) => React.ReactNode; text?: boolean };

const ROWS: readonly Row[] = [
  { name: "Agent", cell: (attempt) => <Text>{attempt.agent}</Text> },
  {
    name: "Model",
    cell: (attempt) => (attempt.model ? <Text>{attempt.model}</Text> : <span className="muted">–</span>),
  },
  { name: "Started", cell: (attempt) => <Ago at={attempt.started_at ?? null} /> },
  {
    name: "Run time",
    cell: (attempt) =>
      attempt.started_at ? (
        <Duration from={attempt.started_at} to={attempt.ended_at ?? null} />
      ) : (
        <span className="muted">not started</span>
      ),
  },
  {
    name: "Cost",
    cell: (attempt) => (
      <Money usd={attempt.cost_usd} unpriced={attempt.cost_usd == null && attempt.tokens_in != null ? 1 : 0} />
    ),
  },
  {
    name: "Tokens in / out",
    cell: (attempt) => (
      <>
        <Count value={attempt.tokens_in} /> / <Count value={attempt.tokens_out} />
      </>
    ),
  },
  { name: "Turns", cell: (attempt) => <Count value={attempt.turns} /> },
  {
    name: "Exit code",
    cell: (attempt) => (attempt.exit_code == null ? <span className="muted">–</span> : attempt.exit_code),
  },
  {
    name: "Reason",
    cell: (attempt) => (attempt.reason ? <Text>{attempt.reason}</Text> : <span className="muted">–</span>),
  },
  { name: "Error", text: true, cell: (attempt, attempts) => <ErrorCell attempt={attempt} attempts={attempts} /> },
];

/** The claim that holds the task now, as one that has not ended. */
export function withCurrent(task: Schemas["Task"], attempts: readonly Attempt[]): readonly Attempt[] {
  if (task.status !== "running" && task.status !== "claimed") return attempts;
  const spent = attempts.reduce((sum, attempt) => sum + (attempt.cost_usd ?? 0), 0);
  const now = {
    number: (task.attempts ?? 0) + 1,
    fence: task.fence ?? 0,
    agent: task.agent ?? "?",
    outcome: task.status,
    started_at: task.started_at ?? null,
    cost_usd: task.cost_usd == null ? null : Math.max(task.cost_usd - spent, 0) || null,
  };
  return [...attempts, now as unknown as Attempt];
}

export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const [all, setAll] = useState(false);
  if (attempts.length === 0) return <p className="muted">Nobody has tried it yet.</p>;
  const newest = [...attempts].reverse();
  const shown = all ? newest : newest.slice(0, SHOWN);
  // A row that no attempt has anything to say in is left out.
  const rows = ROWS.filter((row) => row.name !== "Turns" || attempts.some((each) => each.turns != null))
    .filter((row) => row.name !== "Exit code" || attempts.some((each) => each.exit_code != null))
    .filter((row) => row.name !== "Error" || attempts.some((each) => each.error))
    .filter((row) => row.name !== "Reason" || attempts.some((each) => each.reason));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section className={styles.scroll} tabIndex={0} aria-label="Attempts">
      <table className={styles.attempts}>
        <thead>
          <tr>
            <td />
            {shown.map((attempt) => (
              <th key={attempt.fence} scope="col">
                <span className={styles.number}>{attempt.number ? `#${attempt.number}` : "not counted"}</span>{" "}
                <Badge tone={TONES[attempt.outcome] ?? "gray"}>{attempt.outcome.replace("_", " ")}</Badge>
                <span className="muted"> fence {attempt.fence}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              {shown.map((attempt) => (
                <td key={attempt.fence} className={cx(row.text && styles.text)}>
                  {row.cell(attempt, attempts)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {newest.length > shown.length && (
        <Button small look="quiet" onClick={() => setAll(true)}>
          Show all {newest.length} claims
        </Button>
      )}
    </section>
  );
}

function ErrorCell({ attempt, attempts }: { attempt: Attempt; attempts: readonly Attempt[] }) {
  if (!attempt.error) return <span className="muted">–</span>;
  const first = attempts.find((other) => other.fingerprint && other.fingerprint === attempt.fingerprint);
  const again = first !== undefined && first.fence !== attempt.fence;
  return (
    <>
      {again && <p className="muted">fails like {first.number ? `#${first.number}` : `fence ${first.fence}`}</p>}
      <div className={styles.error}>
        <Text mono>{attempt.error}</Text>
      </div>
    </>
  );
}
