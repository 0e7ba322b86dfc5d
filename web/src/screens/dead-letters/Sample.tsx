// One of a group, to see what went wrong: its error, payload and attempts; and which agents met it.
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { get, keyOf, type Schemas, useTask } from "../../api";
import { Ago, Badge, type Column, Duration, Json, Loaded, Money, Select, Table, TaskLink, Text } from "../../ui";
import styles from "./dead-letters.module.css";
import { Resolved } from "./Resolved";

type Attempt = Schemas["Attempt"];
const HISTORY = "/v1/tasks/{task_id}/history";

export function Sample({ group }: { group: Schemas["DeadGroup"] }) {
  const ids = group.task_ids ?? [];
  const [chosen, setChosen] = useState(ids[0] ?? "");
  const id = ids.includes(chosen) ? chosen : (ids[0] ?? "");
  const histories = useQueries({
    queries: ids.map((task_id) => ({
      queryKey: keyOf(HISTORY, { params: { path: { task_id } } }),
      queryFn: () => get(HISTORY, { params: { path: { task_id } } }),
      staleTime: 30_000,
    })),
  });
  const agents = [...new Set(histories.flatMap((each) => (each.data ?? []).map((attempt) => attempt.agent)))];
  const attempts = histories[ids.indexOf(id)];
  const task = useTask(id);
  return (
    <div className={styles.sample}>
      <div className={styles.pick}>
        <Select
          label="One of them"
          value={id}
          onChange={(event) => setChosen(event.target.value)}
          choices={ids.map((each, index) => ({ value: each, label: `${each}${index === 0 ? " (newest)" : ""}` }))}
        />
        <dl className={styles.about}>
          <div>
            <dt>Agents</dt>
            <dd className={styles.names}>
              {agents.length ? agents.map((agent) => <Badge key={agent}>{agent}</Badge>) : "–"}
            </dd>
          </div>
          <div>
            <dt>Fingerprint</dt>
            <dd className="mono">{group.fingerprint}</dd>
          </div>
        </dl>
      </div>
      <Loaded of={task}>
        {(found) => (
          <>
            <p className={styles.taskLine}>
              <TaskLink task={found} /> <span className="muted">{found.reason}</span>
              {found.poison_pill && <Badge tone="violet">poison pill</Badge>}
            </p>
            <div className={styles.twin}>
              <div>
                <p className={styles.label}>Error</p>
                <div className={styles.box}>
                  <Text mono>{found.error ?? "Nobody was left to tell of an error."}</Text>
                </div>
              </div>
              <div>
                <p className={styles.label}>Payload</p>
                <Json value={found.payload} label="the payload" />
              </div>
            </div>
            <p className={styles.label}>Attempts</p>
            <div className={styles.table}>
              <Table
                label={`Attempts of ${found.id}`}
                rows={attempts?.data ?? []}
                columns={ATTEMPTS}
                rowKey={(row) => String(row.fence)}
                empty={<p className={styles.none}>{attempts?.isPending ? "…" : "None is kept."}</p>}
              />
            </div>
            {(found.reviews ?? []).length > 0 && (
              <>
                <p className={styles.label}>Decided before</p>
                <ul className={styles.reviews}>
                  {(found.reviews ?? []).map((review, index) => (
                    <li key={index}>
                      <Resolved resolution={review.resolution} /> by <Text>{review.by}</Text> <Ago at={review.at} />
                      {review.to && (
                        <>
                          {" "}
                          to <Text>{review.to}</Text>
                        </>
                      )}
                      {review.note && (
                        <>
                          : <Text>{review.note}</Text>
                        </>
                      )}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

const ATTEMPTS: Column<Attempt>[] = [
  { id: "number", header: "#", width: "40px", cell: (row) => row.number || "–" },
  { id: "agent", header: "Agent", width: "18%", cell: (row) => <Text lines={1}>{row.agent}</Text> },
  { id: "model", header: "Model", width: "14%", from: 1024, cell: (row) => <Text lines={1}>{row.model}</Text> },
  { id: "outcome", header: "Ended", width: "96px", cell: (row) => row.outcome },
  {
    id: "error",
    header: "Error",
    cell: (row) => (
      <Text mono lines={1}>
        {row.error ?? row.reason}
      </Text>
    ),
  },
  { id: "when", header: "When", width: "84px", from: 720, cell: (row) => <Ago at={row.ended_at} /> },
  {
    id: "took",
    header: "Took",
    width: "76px",
    align: "end",
    from: 720,
    cell: (row) => <Duration from={row.started_at} to={row.ended_at ?? row.started_at} />,
  },
  { id: "cost", header: "Cost", width: "76px", align: "end", from: 720, cell: (row) => <Money usd={row.cost_usd} /> },
];
