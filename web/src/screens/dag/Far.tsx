/**
 * A graph seen from so far that words could not be read: a block of colour for each task.
 *
 * The rule: the browser has few things to weigh when it moves. Blocks of one colour that are near each other are one
 * path, as edges are. Each task is still an element with its name and status, for those who hear it, but one that is
 * neither painted nor pointed at: which task is at a point is looked up (`taskAt`).
 */
import { ViewportPortal } from "@xyflow/react";
import { memo, useContext, useEffect, useMemo, useState } from "react";
import { lookOf, tones } from "../../ui";
import { type Board, useBoarded } from "./board";
import styles from "./Graph.module.css";
import { HEIGHT, type Place, WIDTH } from "./layout";
import type { DrawnNode } from "./model";
import { type Around, type Carded, domId, labelOf, Surroundings } from "./Node";
import type { Laid } from "./useLayout";

/** How much of a block, at its left, has the full colour. */
const STRIPE = 24;
/** Blocks within one square of this size are painted together. */
const SQUARE = 2_560;
const TOGETHER_MS = 200;

export function FarNodes({ laid }: { laid: Laid }) {
  const { board, selected } = useContext(Surroundings) as Around;
  const version = useVersion(board);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that the board has changed
  const heaps = useMemo(() => heaped(laid, board), [laid, board, version]);
  const chosen = selected === null ? undefined : laid.places.get(selected);
  return (
    <ViewportPortal>
      <svg className={styles.blocks} role="presentation">
        {heaps.map(({ key, look, bodies, stripes }) => (
          <g key={key} className={look === "rim" ? styles.rim : tones[look]}>
            <path d={bodies} />
            {stripes && <path className={styles.stripe} d={stripes} />}
          </g>
        ))}
        {chosen && <rect className={styles.chosen} x={chosen.x} y={chosen.y} width={WIDTH} height={HEIGHT} />}
        {laid.drawn.nodes.map((node) => {
          const place = laid.places.get(node.id);
          return place && <Spot key={node.id} node={node} x={place.x} y={place.y} />;
        })}
      </svg>
    </ViewportPortal>
  );
}

/** One task, for those who hear it. It hears of its own task alone. */
const Spot = memo(function Spot({ node, x, y }: { node: DrawnNode } & Place) {
  const { board } = useContext(Surroundings) as Around;
  const task = useBoarded(board, node.id);
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a shape is no control; the graph around it has the keys
    // biome-ignore lint/a11y/useSemanticElements: a task is no fieldset
    <rect
      id={domId(node.id)}
      data-task={node.id}
      data-status={task?.status}
      role="group"
      aria-roledescription="task"
      aria-label={labelOf(node, task)}
      className={styles.spot}
      x={x}
      y={y}
      width={WIDTH}
      height={HEIGHT}
    />
  );
});

type Heap = { key: string; look: string; bodies: string; stripes: string };

function heaped(laid: Laid, board: Board<Carded>): Heap[] {
  const heaps = new Map<string, Heap>();
  const add = (look: string, { x, y }: Place, striped: boolean) => {
    const key = `${look} ${Math.floor(x / SQUARE)} ${Math.floor(y / SQUARE)}`;
    const heap = heaps.get(key) ?? { key, look, bodies: "", stripes: "" };
    heap.bodies += `M${x},${y}h${WIDTH}v${HEIGHT}h-${WIDTH}z`;
    if (striped) heap.stripes += `M${x},${y}h${STRIPE}v${HEIGHT}h-${STRIPE}z`;
    heaps.set(key, heap);
  };
  for (const node of laid.drawn.nodes) {
    const place = laid.places.get(node.id);
    if (!place) continue;
    const task = board.get(node.id);
    if (node.critical) add("rim", place, false);
    add(task?.parked_on ? "amber" : lookOf(task?.status ?? "pending").tone, place, true);
  }
  // What is on the critical path has a rim that lies below its block.
  return [...heaps.values()].sort((one, other) => Number(other.look === "rim") - Number(one.look === "rim"));
}

/** The board's version, anew a few times a second at most. */
function useVersion(board: Board<Carded>): number {
  const [version, setVersion] = useState(board.version);
  useEffect(() => {
    let timer = 0;
    const leave = board.watchAll(() => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        setVersion(board.version);
      }, TOGETHER_MS);
    });
    setVersion(board.version);
    return () => {
      leave();
      window.clearTimeout(timer);
    };
  }, [board]);
  return version;
}

/** The task whose block is at a place of the picture. */
export function taskAt(laid: Laid, { x, y }: Place): string | null {
  for (const [id, place] of laid.places) {
    if (x >= place.x && x <= place.x + WIDTH && y >= place.y && y <= place.y + HEIGHT) return id;
  }
  return null;
}
