// One task: why it is where it is, how it got there, what went in and what came out.
import { useParams } from "@tanstack/react-router";
import { useGet, type Schemas, useHistory, useJudges, useQuestions, useTask } from "../../api";
import { Ago, Badge, CopyButton, Failed, Json, Loaded, Page, Section, Skeleton, type Tab, Tabs, Text } from "../../ui";
import { Actions } from "./Actions";
import { Artifacts } from "./Artifacts";
import { Attempts, withCurrent } from "./Attempts";
import { Children, useChildren } from "./Children";
import { Provenance, Terms } from "./Facts";
import { Log, Steps } from "./Journal";
import { short } from "./links";
import styles from "./Task.module.css";
import { Timeline } from "./Timeline";
import { isJudged, Verdicts } from "./Verdicts";
import { WhyPanel } from "./Why";

type Task = Schemas["Task"];

const HELD = new Set(["claimed", "running"]);
const FINAL = new Set(["completed", "dead_lettered", "cancelled"]);
const EVENTS = 200;
const EVENTS_EVERY_MS = 5_000;
/** Log lines are no events: while somebody works on it they are asked for. */
const LOG_EVERY_MS = 2_000;

export default function TaskScreen() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const found = useTask(id);
  if (found.data === undefined) {
    return (
      <Page title="Task" tab={`Task ${short(id)}`}>
        {found.error ? <Failed error={found.error} again={() => void found.refetch()} /> : <Skeleton lines={8} />}
      </Page>
    );
  }
  return <Shown key={id} task={found.data} />;
}

function Shown({ task }: { task: Task }) {
  const live = HELD.has(task.status ?? "");
  const history = useHistory(task.id);
  const journal = useGet(
    "/v1/tasks/{task_id}/journal",
    { params: { path: { task_id: task.id } } },
    live ? { every: LOG_EVERY_MS } : {},
  );
  const judges = useJudges(task.id);
  const questions = useQuestions(task.id);
  const children = useChildren(task.id);
  const events = useTaskEvents(task);
  const attempts = history.data ?? [];
  const tries = withCurrent(task, attempts);
  const judged = { task, judges: judges.data ?? [], questions: questions.data ?? [] };
  const title = task.title || task.type;
  return (
    <Page
      title={<Text>{title}</Text>}
      tab={title.slice(0, 80)}
      about={
        <span className={styles.about}>
          <Text>{task.type}</Text> · <span className="mono">{short(task.id)}</span>
          <CopyButton text={task.id} label="Copy id" /> · changed <Ago at={task.updated_at ?? null} />
          {task.poison_pill && <Badge tone="red">poison pill</Badge>}
        </span>
      }
      actions={<Actions task={task} />}
    >
      <WhyPanel task={task} />
      {task.progress != null && live && <Progress value={task.progress} note={task.note ?? null} />}
      <Section title="Timeline">
        <Timeline task={task} attempts={attempts} events={events} />
      </Section>
      <div className={styles.columns}>
        <div className={styles.main}>
          <Section title={`Attempts${tries.length ? ` (${tries.length})` : ""}`} flush={tries.length > 0}>
            <Loaded of={history}>{() => <Attempts attempts={tries} />}</Loaded>
          </Section>
          <Section>
            <Bodies task={task} />
          </Section>
          <Section title="Log">
            <Loaded of={journal}>{(lines) => <Log lines={lines} live={live} />}</Loaded>
          </Section>
          <Section title="Steps">
            <Loaded of={journal}>{(lines) => <Steps lines={lines} />}</Loaded>
          </Section>
          {isJudged(judged) && (
            <Section title="Verdicts and answers">
              <Verdicts {...judged} attempts={attempts} />
            </Section>
          )}
        </div>
        <aside className={styles.side} aria-label="Facts">
          <Section title="Provenance">
            <Provenance task={task} />
          </Section>
          <Section title="Terms">
            <Terms task={task} />
          </Section>
          {(children.data?.items ?? []).length > 0 && (
            <Section title="Children">
              <Children id={task.id} found={children} />
            </Section>
          )}
          <Section title="Artifacts">
            <Artifacts artifacts={task.artifacts ?? []} />
          </Section>
          {((task.reviews ?? []).length > 0 || (task.escalations ?? []).length > 0) && (
            <Section title="Decisions">
              <Decisions task={task} />
            </Section>
          )}
        </aside>
      </div>
    </Page>
  );
}

/** What happened to it lately; it tells when it was ready again between two attempts. */
function useTaskEvents(task: Task) {
  const over = FINAL.has(task.status ?? "");
  const found = useGet(
    "/v1/events/recent",
    { params: { query: { task: task.id, limit: EVENTS } } },
    over ? {} : { every: EVENTS_EVERY_MS },
  );
  return found.data?.items ?? [];
}

function Progress({ value, note }: { value: number; note: string | null }) {
  const percent = Math.round(Math.min(Math.max(value, 0), 1) * 100);
  return (
    <div className={styles.progress}>
      <div
        className={styles.bar}
        role="progressbar"
        aria-label="Progress"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span style={{ width: `${percent}%` }} />
      </div>
      <span>{percent} %</span>
      {note && <Text lines={1}>{note}</Text>}
    </div>
  );
}

/** What went in and what came out. */
function Bodies({ task }: { task: Task }) {
  const tabs: Tab[] = [
    { id: "payload", label: "Payload", content: <Json value={task.payload ?? null} label="payload" /> },
  ];
  const output = {
    id: "output",
    label: "Output",
    content: (
      <>
        {task.output_sanitized && <p className="muted">Characters that no JSON may hold were replaced in it.</p>}
        <Json value={task.output ?? null} label="output" />
      </>
    ),
  };
  if (task.status === "completed" || task.output != null) tabs.unshift(output);
  if (task.decision != null)
    tabs.push({ id: "decision", label: "Decision", content: <Json value={task.decision} label="decision" /> });
  if (task.context != null)
    tabs.push({ id: "context", label: "Context", content: <Json value={task.context} label="context" /> });
  // Once there is an output, it is what is looked at first.
  return <Tabs key={tabs[0]?.id} tabs={tabs} label="Payload and output" />;
}

/** What people decided about it, and what its ladder did. */
function Decisions({ task }: { task: Task }) {
  return (
    <ul className={styles.list}>
      {(task.reviews ?? []).map((review) => (
        <li key={`${review.at} ${review.resolution}`} className={styles.verdict}>
          <p>
            <Badge>{review.resolution.replace("_", " ")}</Badge> by <Text>{review.by}</Text>, <Ago at={review.at} />
          </p>
          {review.note && <Text>{review.note}</Text>}
        </li>
      ))}
      {(task.escalations ?? []).map((taken) => (
        <li key={`${taken.at} ${taken.do}`} className={styles.verdict}>
          <Badge tone="orange">{taken.do}</Badge> after {taken.after} failed, <Ago at={taken.at} />
        </li>
      ))}
    </ul>
  );
}
