// Who works: on what, for how long and at most, when heard of last, at what cost; drained or let go in place.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Schemas, useAgents, useMay, useMetrics, useTasks } from "../../api";
import {
  Ago,
  type Column,
  cx,
  duration,
  Empty,
  Loaded,
  millis,
  Money,
  Section,
  StatusBadge,
  Table,
  Text,
  useNow,
} from "../../ui";
import { Actions } from "../agents/Actions";
import styles from "./Now.module.css";

type Agent = Schemas["Agent"];
type Task = Schemas["Task"];
type Row = { agent: Agent; task: Task | null; more: number; cost: Schemas["Metrics"] | undefined };

const HELD = ["claimed", "running", "validating"];
const MOST = 500;
const SHOWN = new Set(["active", "draining", "lost"]);
/** Lost ones are shown for a while, then the screen of agents has them. */
const LOST_MS = 3_600_000;

export function AgentsNow() {
  const agents = useAgents();
  const held = useTasks({ status: HELD, limit: MOST });
  const costs = useMetrics({ by: "agent", since: "24h" });
  const rows = useMemo(
    () => rowsOf(agents.data ?? [], held.data?.items ?? [], costs.data ?? []),
    [agents.data, held.data, costs.data],
  );
  const columns = useColumns();
  return (
    <Section title="Agents" flush aside={<Link to="/agents">all agents</Link>}>
      <Loaded of={agents} height={120}>
        {() => (
          <Table
            label="Agents at work"
            rows={rows}
            columns={columns}
            rowKey={(row) => row.agent.id}
            rowHeight={44}
            height="420px"
            empty={
              <Empty title="No agent is at work">
                Start one: <code>dibs run --type code -- CMD {"{prompt}"}</code>
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}

function rowsOf(agents: Agent[], held: Task[], costs: Schemas["Metrics"][]): Row[] {
  const by = new Map<string, Task[]>();
  for (const task of held) if (task.agent) by.set(task.agent, [...(by.get(task.agent) ?? []), task]);
  const cost = new Map(costs.map((one) => [one.name, one]));
  const now = Date.now();
  return agents
    .filter(
      (agent) => SHOWN.has(agent.status) && (agent.status !== "lost" || now - (millis(agent.heard_at) ?? 0) < LOST_MS),
    )
    .map((agent) => {
      const tasks = by.get(agent.id) ?? [];
      return { agent, task: tasks[0] ?? null, more: Math.max(0, tasks.length - 1), cost: cost.get(agent.id) };
    })
    .sort(
      (one, two) => Number(two.task !== null) - Number(one.task !== null) || one.agent.id.localeCompare(two.agent.id),
    );
}

function useColumns(): Column<Row>[] {
  const mayDrain = useMay("POST /v1/agents/{agent}/drain");
  return useMemo(
    () => [
      {
        id: "agent",
        header: "Agent",
        width: "26%",
        cell: ({ agent }) => (
          <div className={styles.two}>
            <Text lines={1}>{agent.id}</Text>
            <span className={cx("muted", styles.small)}>
              <Text lines={1}>{[agent.type, ...agent.capabilities].filter(Boolean).join(", ") || "any work"}</Text>
            </span>
          </div>
        ),
      },
      {
        id: "task",
        header: "Works on",
        cell: ({ agent, task, more }) =>
          task === null ? (
            <StatusBadge status={agent.status === "active" ? "idle" : agent.status} />
          ) : (
            <div className={styles.two}>
              <Link to="/tasks/$id" params={{ id: task.id }} className="truncate">
                <bdi>{task.title || task.type}</bdi>
                {more > 0 && ` +${more}`}
              </Link>
              <span className={cx("muted", styles.small)}>
                <Text lines={1}>
                  {task.note ?? (task.progress == null ? task.type : `${Math.round(task.progress * 100)} %`)}
                </Text>
              </span>
            </div>
          ),
      },
      {
        id: "elapsed",
        header: "Elapsed",
        width: "112px",
        from: 480,
        cell: ({ task }) => (task ? <Elapsed task={task} /> : null),
      },
      {
        id: "heard",
        header: "Heard",
        width: "84px",
        from: 720,
        cell: ({ agent, task }) => <Ago at={task?.renewed_at ?? agent.heard_at} />,
      },
      {
        id: "cost",
        header: "Cost 24 h",
        width: "88px",
        align: "end",
        from: 720,
        cell: ({ cost }) => <Money usd={cost?.cost_usd} unpriced={cost?.unpriced ?? 0} />,
      },
      ...(mayDrain
        ? [{ id: "act", header: "", width: "44px", cell: ({ agent }: Row) => <Actions agent={agent} /> }]
        : []),
    ],
    [mayDrain],
  );
}

/** How long the attempt has taken, against what it may take. */
function Elapsed({ task }: { task: Task }) {
  const now = useNow();
  const began = millis(task.started_at ?? task.claimed_at);
  if (began === null) return null;
  const seconds = Math.max(0, (now - began) / 1_000);
  const part = task.timeout ? Math.min(1, seconds / task.timeout) : null;
  return (
    <div className={styles.two}>
      <span>
        {duration(Math.max(1, Math.floor(seconds)))}
        {task.timeout ? <span className="muted"> of {duration(task.timeout)}</span> : null}
      </span>
      {part !== null && (
        <span className={styles.bar} aria-hidden>
          <span className={cx(styles.done, part > 0.8 && styles.late)} style={{ width: `${part * 100}%` }} />
        </span>
      )}
    </div>
  );
}
