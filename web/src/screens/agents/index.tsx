// Agents: who works, on what, for how long, at what cost; and how to let one finish, or stop it.
import { Users } from "lucide-react";
import { useMemo, useState } from "react";
import { useGet } from "../../api";
import { useParam } from "../../shell/search";
import {
  Ago,
  Badge,
  type Column,
  Empty,
  Field,
  Loaded,
  Meter,
  Money,
  Page,
  Section,
  Select,
  StatusBadge,
  Table,
  TaskLink,
  Text,
} from "../../ui";
import { Actions } from "./Actions";
import styles from "./agents.module.css";
import { Detail } from "./Detail";
import { Elapsed } from "./Elapsed";
import { type Agent, type Known, useKnown } from "./known";

export default function Agents() {
  // Being heard of is written down every few seconds, and told of by no event.
  const agents = useGet("/v1/agents", undefined, { every: 5_000 });
  const [which, setWhich] = useParam("show", "here");
  const [text, setText] = useParam("q");
  const [open, setOpen] = useState<string | null>(null);
  const known = useKnown(agents.data);
  const rows = useMemo(() => known.filter((each) => isShown(each.agent, which, text)), [known, which, text]);
  const opened = known.find((each) => each.agent.id === open);
  return (
    <Page
      title="Agents"
      full
      actions={
        <div className={styles.filters}>
          <Field
            label="Find agents"
            hideLabel
            type="search"
            placeholder="Name, type or capability"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <Select
            label="Which agents"
            hideLabel
            value={which}
            onChange={(event) => setWhich(event.target.value)}
            choices={[
              { value: "here", label: "here or lost" },
              { value: "working", label: "with tasks" },
              { value: "lost", label: "lost" },
              { value: "all", label: "all, also gone" },
            ]}
          />
        </div>
      }
    >
      <Loaded of={agents} lines={6}>
        {(all) => (
          <Section flush>
            <Table
              label="Agents"
              rows={rows}
              columns={COLUMNS}
              rowKey={(row) => row.agent.id}
              onOpen={(row) => setOpen(row.agent.id)}
              rowHeight={52}
              height="calc(100dvh - 130px)"
              empty={
                all.length === 0 ? (
                  <Empty title="Nobody has worked here yet" icon={<Users />}>
                    An agent is known from its first claim on: <code>dibs run</code>, <code>dibs work</code>, or any
                    program with a token.
                  </Empty>
                ) : (
                  <Empty title="No agent fits" icon={<Users />}>
                    {all.length} are known; choose “all, also gone” to see them.
                  </Empty>
                )
              }
            />
          </Section>
        )}
      </Loaded>
      {opened && <Detail known={opened} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function isShown(agent: Agent, which: string, text: string): boolean {
  if (which === "here" && agent.status === "offline") return false;
  if (which === "working" && !agent.tasks?.length) return false;
  if (which === "lost" && agent.status !== "lost") return false;
  const wanted = text.trim().toLowerCase();
  if (!wanted) return true;
  const said = [agent.id, agent.type, agent.host, ...(agent.capabilities ?? []), ...(agent.models ?? [])];
  return said.some((each) => each?.toLowerCase().includes(wanted));
}

const COLUMNS: Column<Known>[] = [
  {
    id: "agent",
    header: "Agent",
    sort: ({ agent }) => agent.id,
    cell: (known) => (
      <div className={styles.who}>
        <span className={styles.id}>
          <Text lines={1}>{known.agent.id}</Text>
        </span>
        <span className={styles.small}>
          <Text lines={1}>{[known.agent.type, known.agent.host].filter(Boolean).join(" · ")}</Text>
        </span>
        <span className={styles.narrow}>
          <WorkingOn known={known} />
        </span>
      </div>
    ),
  },
  {
    id: "status",
    header: "State",
    width: "116px",
    sort: ({ agent }) => agent.status,
    cell: ({ agent, paused }) =>
      paused ? <Badge tone="amber">paused</Badge> : <StatusBadge status={agent.status ?? "active"} />,
  },
  {
    id: "task",
    header: "Working on",
    from: 480,
    cell: (known) => <WorkingOn known={known} />,
  },
  {
    id: "heard",
    header: "Heard",
    width: "86px",
    from: 720,
    sort: ({ agent }) => agent.heard_at,
    cell: ({ agent }) => <Ago at={agent.heard_at} />,
  },
  {
    id: "use",
    header: "In use",
    width: "92px",
    from: 1024,
    sort: ({ agent }) => agent.utilisation,
    cell: ({ agent }) => <Use agent={agent} />,
  },
  {
    id: "cost",
    header: "Cost, 24 h",
    width: "92px",
    align: "end",
    from: 720,
    sort: ({ did }) => did?.cost_usd,
    cell: ({ did }) => <Money usd={did?.cost_usd} unpriced={did?.unpriced ?? 0} />,
  },
  {
    id: "can",
    header: "Can",
    width: "15%",
    from: 1024,
    cell: ({ agent }) => (
      <span className={styles.small}>
        <Text lines={2}>
          {[...(agent.capabilities ?? []), ...(agent.models ?? [])].join(", ") ||
            (agent.types ? agent.types.join(", ") : "")}
        </Text>
      </span>
    ),
  },
  { id: "do", header: "Actions", width: "72px", align: "end", cell: ({ agent }) => <Actions agent={agent} /> },
];

function WorkingOn({ known: { agent, tasks } }: { known: Known }) {
  const [first] = tasks;
  const held = agent.tasks ?? [];
  if (held.length === 0) return <span className="muted">nothing</span>;
  if (!first) return <TaskLink task={held[0] ?? ""} />;
  return (
    <div className={styles.task}>
      <span className={styles.taskName}>
        <TaskLink task={first} />
        {held.length > 1 && <span className="muted"> and {held.length - 1} more</span>}
      </span>
      <span className={styles.small}>
        <Elapsed task={first} />
        <Text lines={1}>{first.note}</Text>
      </span>
    </div>
  );
}

function Use({ agent }: { agent: Agent }) {
  const most = agent.max_concurrent ?? agent.concurrency;
  const held = agent.tasks?.length ?? 0;
  if (most == null) return <span className="muted">{held || "–"}</span>;
  return (
    <div className={styles.use}>
      <span>
        {held} of {most}
      </span>
      <Meter
        label={`In use of ${agent.id}`}
        of={most}
        text={`${held} of ${most}`}
        parts={[{ value: held, tone: held >= most ? "amber" : "cyan" }]}
      />
    </div>
  );
}
