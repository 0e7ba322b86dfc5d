// One dag: its graph as it lives, or when each of its tasks waited and worked.
import { useNavigate, useParams } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { useBudgets, useGet } from "../../api";
import { useParam } from "../../shell/search";
import { Ago, AtLeast, CopyButton, Count, Duration, Failed, lookOf, Money, Page, plural, Skeleton, StatusBadge, Text, tones } from "../../ui";
import { Actions } from "./Actions";
import { type Board, countByStatus, useBoard } from "./board";
import styles from "./Dag.module.css";
import { Details } from "./Details";
import { Gantt } from "./Gantt";
import { Graph } from "./Graph";
import type { TimedAttempt } from "./gantt";
import { type Dag, type Task, useLiveDag } from "./live";
import { drawn, foldedAtFirst, subgraphs } from "./model";
import { Views } from "./Views";
import { Why } from "./Why";

/** More nodes than this at once are no picture, and take minutes to lay out. */
const DRAWN_AT_MOST = 2_500;

export default function DagScreen() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch, board } = useLiveDag(id);
  if (!data) {
    return (
      <Page title="Dag">{error ? <Failed title="This dag could not be loaded" error={error} again={() => void refetch()} /> : <Skeleton height={400} />}</Page>
    );
  }
  return <Shown key={id} dag={data} board={board} />;
}

function Shown({ dag, board }: { dag: Dag; board: Board<Task> }) {
  const [view, setView] = useParam("view", "graph");
  const version = useBoard(board);
  const ids = useMemo(() => (dag.tasks ?? []).map((task) => task.id), [dag.tasks]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that the board has changed
  const tasks = useMemo(() => board.pick(ids), [board, ids, version]);
  const budget = useBudgets().data?.find((one) => one.scope === `dag:${dag.id}`);
  const title = dag.title || (dag.virtual ? "A task on its own" : dag.id);
  return (
    <Page
      full
      title={<Text lines={2}>{title}</Text>}
      tab={title.slice(0, 80)}
      about={<About dag={dag} tasks={tasks} />}
      actions={<Actions dag={dag} tasks={tasks} budget={budget} />}
    >
      <Standing tasks={tasks} budget={budget} />
      <Views
        value={view === "gantt" ? "gantt" : "graph"}
        onChange={setView}
        views={[
          { id: "graph", label: "Graph", content: () => <GraphView dag={dag} board={board} onGantt={() => setView("gantt")} /> },
          { id: "gantt", label: "Gantt", content: () => <GanttView dag={dag} board={board} ids={ids} /> },
        ]}
      />
    </Page>
  );
}

function About({ dag, tasks }: { dag: Dag; tasks: readonly Task[] }) {
  const cost = tasks.reduce((sum, task) => sum + (task.cost_usd ?? 0), 0);
  const known = tasks.some((task) => task.cost_usd != null);
  const unpriced = tasks.filter((task) => task.cost_usd == null && (task.tokens_in || task.tokens_out || task.turns)).length;
  return (
    <span className={styles.about}>
      <StatusBadge status={dag.status ?? "pending"} />
      <span>{plural(tasks.length, "task")}</span>
      {(dag.critical_path?.length ?? 0) > 1 && <span>critical path {dag.critical_path?.length}</span>}
      <span>
        {dag.ended_at ? "took " : dag.started_at ? "for " : "added "}
        {dag.started_at ? <Duration from={dag.started_at} to={dag.ended_at ?? null} /> : <Ago at={dag.created_at ?? null} />}
      </span>
      {(known || unpriced > 0) && <AtLeast usd={cost} unpriced={unpriced} />}
      <span>on failure: {dag.on_failure}</span>
      {dag.user && (
        <span>
          for <bdi>{dag.user}</bdi>
        </span>
      )}
      <span className={styles.id}>
        <code>{dag.id}</code>
        <CopyButton text={dag.id} label="Copy the id" />
      </span>
    </span>
  );
}

const ORDER = ["completed", "running", "claimed", "validating", "waiting", "ready", "retrying", "scheduled", "pending", "dead_lettered", "cancelled"];

/** How many of its tasks are where: a bar and the numbers; and how much of its budget is used. */
function Standing({ tasks, budget }: { tasks: readonly Task[]; budget: { spent?: number; reserved?: number; limit?: number; waiting?: number; unpriced?: number } | undefined }) {
  const counts = countByStatus(tasks as readonly { status: string }[]);
  const present = ORDER.filter((status) => counts.has(status));
  const used = (budget?.spent ?? 0) + (budget?.reserved ?? 0);
  return (
    <div className={styles.standing}>
      <div className={styles.stack} aria-hidden>
        {present.map((status) => (
          <span key={status} className={tones[lookOf(status).tone]} style={{ flexGrow: counts.get(status) ?? 0 }} />
        ))}
      </div>
      <ul className={styles.counts} aria-label="Tasks by status">
        {present.map((status) => {
          const { icon: Icon, tone, text } = lookOf(status);
          return (
            <li key={status} className={tones[tone]}>
              <Icon aria-hidden /> <Count value={counts.get(status) ?? 0} /> <span className="muted">{text}</span>
            </li>
          );
        })}
        {budget && (
          <li className={styles.budget}>
            <meter min={0} max={budget.limit ?? 0} value={Math.min(used, budget.limit ?? 0)} aria-label="Budget used" />
            <AtLeast usd={used} unpriced={budget.unpriced ?? 0} /> <span className="muted">of</span> <Money usd={budget.limit ?? 0} />
            {(budget.waiting ?? 0) > 0 && <strong>{plural(budget.waiting ?? 0, "task")} parked</strong>}
          </li>
        )}
      </ul>
    </div>
  );
}

function GraphView({ dag, board, onGantt }: { dag: Dag; board: Board<Task>; onGantt: () => void }) {
  const navigate = useNavigate();
  const [selected, setSelected] = useParam("task");
  const [follow, setFollow] = useState(false);
  const tasks = dag.tasks ?? [];
  const [folded, setFolded] = useState(() => foldedAtFirst(tasks));
  const graph = useMemo(
    () => drawn(dag.tasks ?? [], dag.edges ?? [], folded, dag.critical_path ?? []),
    [dag.tasks, dag.edges, dag.critical_path, folded],
  );
  const fold = useCallback((id: string) => {
    setFolded((now) => {
      const next = new Set(now);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const open = useCallback((id: string) => void navigate({ to: "/tasks/$id", params: { id } }), [navigate]);
  if (graph.nodes.length > DRAWN_AT_MOST) {
    return (
      <p className={styles.tooMany}>
        {plural(graph.nodes.length, "task")} are too many for one picture.{" "}
        <button type="button" className={styles.link} onClick={onGantt}>
          See them in the Gantt view
        </button>
      </p>
    );
  }
  return (
    <div className={styles.split}>
      <Graph
        drawn={graph}
        board={board as never}
        label={dag.title || "Dag"}
        selected={selected || null}
        onSelect={(id) => setSelected(id ?? "")}
        onOpen={open}
        onFold={fold}
        onFoldAll={(all) => setFolded(all ? new Set(subgraphs(tasks).keys()) : new Set())}
        follow={follow}
        onFollow={setFollow}
        hint={(id) => <Why id={id} short />}
      />
      {selected && <Details board={board} id={selected} onClose={() => setSelected("")} />}
    </div>
  );
}

function GanttView({ dag, board, ids }: { dag: Dag; board: Board<Task>; ids: readonly string[] }) {
  const told = useGet("/v1/dags/{dag_id}/attempts", { params: { path: { dag_id: dag.id } } });
  const attempts = useMemo(() => {
    const byTask = new Map<string, TimedAttempt[]>();
    for (const { task_id, attempts: ended } of told.data ?? []) byTask.set(task_id, ended ?? []);
    return byTask;
  }, [told.data]);
  const critical = useMemo(() => new Set(dag.critical_path ?? []), [dag.critical_path]);
  return <Gantt board={board as never} ids={ids} attempts={attempts} critical={critical} />;
}
