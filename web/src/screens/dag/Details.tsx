import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Duration, IconButton, Money, StatusBadge, Text } from "../../ui";
import { type Board, useBoarded } from "./board";
import styles from "./Dag.module.css";
import type { Task } from "./live";
import { nameOf } from "./Node";
import { Why } from "./Why";

/** The task that is selected, beside the graph. */
export function Details({ board, id, onClose }: { board: Board<Task>; id: string; onClose: () => void }) {
  const task = useBoarded(board, id);
  if (!task) return null;
  const facts: [string, ReactNode][] = [
    ["Type", <Text key="type">{task.type}</Text>],
    ["Ref", task.ref ? <Text key="ref">{task.ref}</Text> : null],
    ["Agent", task.agent ? <Text key="agent">{task.agent}</Text> : null],
    ["Running for", task.status === "running" ? <Duration key="run" from={task.started_at} /> : null],
    ["Attempts", task.attempts ? `${task.attempts} of ${task.max_attempts}` : null],
    ["Cost", task.cost_usd == null ? null : <Money key="cost" usd={task.cost_usd} />],
    ["Note", task.note ? <Text key="note">{task.note}</Text> : null],
    ["Error", task.error ? <Text key="error" mono lines={4}>{task.error}</Text> : null],
  ];
  return (
    <aside className={styles.details} aria-label="The selected task">
      <header>
        <StatusBadge status={task.status ?? "pending"} parked={task.parked_on ?? null} />
        <IconButton small label="Close" icon={<X />} onClick={onClose} />
      </header>
      <h2>
        <Link to="/tasks/$id" params={{ id }}>
          <bdi>{nameOf(task as never, id)}</bdi>
        </Link>
      </h2>
      <Why id={id} />
      <dl>
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </aside>
  );
}
