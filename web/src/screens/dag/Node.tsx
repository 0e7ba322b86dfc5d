import type { NodeProps, Node as FlowNode } from "@xyflow/react";
import { ChevronsDownUp, ChevronsUpDown, type LucideIcon } from "lucide-react";
import { createContext, memo, useContext } from "react";
import { cx, Duration, lookOf, tones } from "../../ui";
import { type Board, type Boarded, countByStatus, useBoard, useBoarded } from "./board";
import styles from "./Graph.module.css";
import type { DrawnNode } from "./model";

/** What a node says of its task; of one that is only planned, not all of it is known. */
export interface Carded extends Boarded {
  type: string;
  title?: string | null;
  ref?: string | null;
  agent?: string | null;
  progress?: number | null;
  parked_on?: string | null;
  attempts?: number;
  started_at?: string | null;
  claimed_at?: string | null;
}

export interface Around {
  board: Board<Carded>;
  selected: string | null;
  onFold: ((id: string) => void) | null;
}

export const Surroundings = createContext<Around | null>(null);

export type TaskNodeType = FlowNode<{ node: DrawnNode }, "task">;

const HELD = new Set(["claimed", "running"]);

export const nameOf = (task: Carded | undefined, id: string): string => task?.title || task?.ref || task?.type || id;

const saidOf = (task: Carded | undefined): string => (task?.parked_on ? "parked" : lookOf(task?.status ?? "pending").text);

/** What those hear of a node who do not see it. */
export const labelOf = (node: DrawnNode, task: Carded | undefined): string =>
  `${nameOf(task, node.id)}, ${saidOf(task)}${node.critical ? ", on the critical path" : ""}`;

/** One task. It hears of its own task alone. */
export const TaskNode = memo(function TaskNode({ data: { node } }: NodeProps<TaskNodeType>) {
  const around = useContext(Surroundings) as Around;
  const task = useBoarded(around.board, node.id);
  const { tone, icon: Icon } = lookOf(task?.status ?? "pending");
  const parked = Boolean(task?.parked_on);
  const name = nameOf(task, node.id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a task is no fieldset
    <div
      id={domId(node.id)}
      data-task={node.id}
      data-status={task?.status}
      role="group"
      aria-roledescription="task"
      aria-label={labelOf(node, task)}
      className={cx(
        styles.node,
        tones[parked ? "amber" : tone],
        tone === "red" && !parked && styles.failed,
        node.critical && styles.critical,
        node.outside && styles.outside,
        node.id === around.selected && styles.selected,
        task && HELD.has(task.status) && styles.held,
      )}
    >
      <Words node={node} task={task} name={name} said={saidOf(task)} icon={Icon} />
      {node.below.length > 0 && <Fold node={node} name={name} />}
    </div>
  );
});

type WordsProps = { node: DrawnNode; task: Carded | undefined; name: string; said: string; icon: LucideIcon };

function Words({ node, task, name, said, icon: Icon }: WordsProps) {
  const held = task !== undefined && HELD.has(task.status);
  return (
    <>
      <div className={styles.words} aria-hidden>
        <span className={styles.name} dir="auto">
          <Icon className={styles.icon} />
          <span className="truncate">{name}</span>
        </span>
        <span className={styles.about}>
          <span className="truncate">
            {said}
            {node.outside ? " · another dag" : ""}
            {task && name !== task.type ? ` · ${task.type}` : ""}
            {task?.agent ? ` · ${task.agent}` : ""}
          </span>
          {held && (
            <span className={styles.time}>
              <Duration from={task.started_at ?? task.claimed_at} />
            </span>
          )}
          {(task?.attempts ?? 0) > 1 && <span className={styles.time}>×{task?.attempts}</span>}
        </span>
      </div>
      {held && <span className={styles.progress} style={{ width: `${Math.round((task.progress ?? 0) * 100)}%` }} aria-hidden />}
    </>
  );
}

export const domId = (id: string): string => `node-${id}`;

function Fold({ node, name }: { node: DrawnNode; name: string }) {
  const { board, onFold } = useContext(Surroundings) as Around;
  const words = `${node.folded ? "Show" : "Fold"} the ${node.below.length} below ${name}`;
  return (
    <button
      type="button"
      className={cx(styles.fold, "nodrag nopan")}
      aria-expanded={!node.folded}
      aria-label={words}
      title={words}
      tabIndex={-1}
      onClick={(event) => {
        event.stopPropagation();
        onFold?.(node.id);
      }}
    >
      {node.folded ? <ChevronsUpDown /> : <ChevronsDownUp />}
      {node.below.length}
      {node.folded && <Inside board={board} ids={node.below} />}
    </button>
  );
}

/** How those that are folded away stand: a bar, as long as there are many of each. */
function Inside({ board, ids }: { board: Board<Carded>; ids: readonly string[] }) {
  useBoard(board);
  const counts = countByStatus(board.pick(ids));
  return (
    <span className={styles.inside} aria-hidden>
      {[...counts].map(([status, count]) => (
        <span key={status} className={tones[lookOf(status).tone]} style={{ flexGrow: count }} />
      ))}
    </span>
  );
}
