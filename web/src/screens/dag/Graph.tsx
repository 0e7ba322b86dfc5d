/**
 * A graph of tasks: pan, zoom, walk through it by keys, follow what runs.
 *
 * The rule: it stays smooth with a thousand tasks. Near by only nodes in sight are drawn, and each hears of its own task
 * alone; from afar nodes are blocks of colour. Edges that are near each other are one path: an element each would be too
 * many, and one path for all would be painted whole, again and again, for each small part of the picture. From afar, and
 * while it is moved, the picture is a layer that is shifted and not painted; near by very many edges are left out
 * meanwhile, but for the critical path.
 */
import {
  MiniMap,
  type Node as FlowNode,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  ViewportPortal,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { ChevronsDownUp, ChevronsUpDown, Crosshair, Maximize, Route, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { cx, IconButton, lookOf, Skeleton } from "../../ui";
import { type Board, useBoard } from "./board";
import { FarNodes, taskAt } from "./Far";
import styles from "./Graph.module.css";
import { HEIGHT, WIDTH } from "./layout";
import type { Drawn, DrawnEdge } from "./model";
import { type Around, type Carded, domId, nameOf, Surroundings, TaskNode, type TaskNodeType } from "./Node";
import { type Direction, neighbour } from "./steering";
import { type Laid, useLayout } from "./useLayout";

type GraphProps = {
  drawn: Drawn | null;
  board: Board<Carded>;
  /** What it is a graph of, for those who hear it. */
  label: string;
  selected?: string | null;
  onSelect?: (id: string | null) => void;
  /** Enter, or a second click. */
  onOpen?: (id: string) => void;
  onFold?: (id: string) => void;
  onFoldAll?: (fold: boolean) => void;
  /** The view goes along with what runs, until one moves it. */
  follow?: boolean;
  onFollow?: (on: boolean) => void;
  /** What is shown beside a node that the pointer rests on. */
  hint?: (id: string) => ReactNode;
  children?: ReactNode;
};

const TYPES = { task: TaskNode };
const FAR = 0.45;
const NEAR_ENOUGH = 1;
const FIT = { padding: 0.08, maxZoom: NEAR_ENOUGH, includeHiddenNodes: true };
const REST_MS = 250;
const NARROW = 720;
const MANY_EDGES = 600;
const KEYS: Record<string, Direction> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const RUNS = new Set(["claimed", "running", "validating"]);

export function Graph(props: GraphProps) {
  const { laid, busy, failed } = useLayout(props.drawn);
  if (failed) return <p className={styles.note}>This graph cannot be laid out. The Gantt view has all its tasks.</p>;
  if (laid === null) {
    return (
      <div className={styles.graph}>
        <Skeleton height={240} />
      </div>
    );
  }
  return (
    <ReactFlowProvider>
      <Canvas {...props} laid={laid} busy={busy} />
    </ReactFlowProvider>
  );
}

function Canvas({ laid, busy, board, label, selected = null, onSelect, onOpen, onFold, onFoldAll, follow = false, onFollow, hint, children }: GraphProps & { laid: Laid; busy: boolean }) {
  const flow = useReactFlow();
  const far = useStore(({ transform }) => transform[2] < FAR);
  const [critical, setCritical] = useState(true);
  const frame = useRef<HTMLDivElement>(null);

  const nodes = useMemo<TaskNodeType[]>(
    () =>
      laid.drawn.nodes.map((node) => ({
        id: node.id,
        type: "task",
        position: laid.places.get(node.id) ?? { x: 0, y: 0 },
        data: { node },
        width: WIDTH,
        height: HEIGHT,
        measured: { width: WIDTH, height: HEIGHT },
        handles: [],
        // From afar they are drawn together, by FarNodes.
        hidden: far,
      })),
    [laid, far],
  );
  const around = useMemo<Around>(() => ({ board, selected, onFold: onFold ?? null }), [board, selected, onFold]);
  const onClick = (id: string) => (id === selected ? onOpen?.(id) : onSelect?.(id));
  const find = useCallback(
    (event: PointerEvent) => {
      if (!far) return (event.target as Element).closest<HTMLElement>("[data-task]");
      const isOver = (event.target as Element).closest(".react-flow__pane") !== null;
      const id = isOver ? taskAt(laid, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })) : null;
      frame.current?.classList.toggle(styles.overTask ?? "", id !== null);
      return id === null ? null : document.getElementById(domId(id));
    },
    [far, laid, flow],
  );
  const moving = (on: boolean) => frame.current?.classList.toggle(styles.moving ?? "", on);

  // In a narrow window all of it could not be read: what runs, or where it begins, comes first.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it is opened
  const atFirst = useMemo(() => (window.innerWidth < NARROW && laid.drawn.nodes.length > 3 ? { ...FIT, nodes: firstSeen(laid, board, selected), minZoom: 0.7 } : FIT), []);

  const move = useCallback((id: string | null) => id !== null && void bringInSight(flow, laid, id, frame.current), [flow, laid]);
  useFollow(follow, board, laid);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    const direction = KEYS[event.key];
    if (direction) {
      const next = neighbour(selected, direction, laid.drawn.edges, laid.places);
      onSelect?.(next);
      move(next);
    } else if (event.key === "Enter" && selected !== null) onOpen?.(selected);
    else if (event.key === " " && selected !== null) onFold?.(selected);
    else if (event.key === "Escape") onSelect?.(null);
    else if (event.key === "+" || event.key === "=") void flow.zoomIn(gently());
    else if (event.key === "-") void flow.zoomOut(gently());
    else if (event.key === "f" || event.key === "0") void flow.fitView({ ...FIT, ...gently() });
    else if (event.key === "r" && onFollow) onFollow(!follow);
    else if (event.key === "c") setCritical((now) => !now);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const chosen = selected === null ? undefined : board.get(selected);
  return (
    <Surroundings.Provider value={around}>
      {/* biome-ignore lint/a11y/useSemanticElements: a graph is no fieldset */}
      <div
        ref={frame}
        className={cx(styles.graph, far && styles.far, critical && styles.showsCritical, laid.drawn.edges.length > MANY_EDGES && styles.many)}
        role="group"
        aria-roledescription="graph"
        aria-label={`${label}: ${laid.drawn.nodes.length} nodes. Arrow keys move, Enter opens, f shows all.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys walk through it
        tabIndex={0}
        aria-activedescendant={selected !== null && laid.places.has(selected) ? domId(selected) : undefined}
        onKeyDown={onKeyDown}
      >
        <ReactFlow
          nodes={nodes}
          edges={NO_EDGES}
          nodeTypes={TYPES}
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          panActivationKeyCode={null}
          zoomActivationKeyCode={null}
          zoomOnDoubleClick={false}
          minZoom={0.02}
          maxZoom={2}
          fitView
          fitViewOptions={atFirst}
          proOptions={{ hideAttribution: true }}
          onNodeClick={(_, { id }) => onClick(id)}
          onPaneClick={({ clientX, clientY }) => {
            const id = far ? taskAt(laid, flow.screenToFlowPosition({ x: clientX, y: clientY })) : null;
            if (id !== null) onClick(id);
            else onSelect?.(null);
          }}
          // Not when a button is pressed, which may be the beginning of a click.
          onMove={(event) => {
            moving(true);
            if (event !== null && follow) onFollow?.(false);
          }}
          onMoveEnd={() => moving(false)}
        >
          <Edges laid={laid} selected={selected} />
          {far ? <FarNodes laid={laid} /> : <Overview board={board} />}
          <Panel position="top-right" className={styles.tools}>
            {onFollow && <IconButton small label="Follow what runs (r)" icon={<Crosshair />} pressed={follow} onClick={() => onFollow(!follow)} />}
            <IconButton small label="Critical path (c)" icon={<Route />} pressed={critical} onClick={() => setCritical(!critical)} />
            {onFoldAll && laid.drawn.nodes.some((node) => node.below.length > 0) && (
              <>
                <IconButton small label="Fold all sub-graphs" icon={<ChevronsDownUp />} onClick={() => onFoldAll(true)} />
                <IconButton small label="Show all sub-graphs" icon={<ChevronsUpDown />} onClick={() => onFoldAll(false)} />
              </>
            )}
            <span className={styles.gap} />
            <IconButton small label="Zoom out (-)" icon={<ZoomOut />} onClick={() => void flow.zoomOut(gently())} />
            <IconButton small label="Zoom in (+)" icon={<ZoomIn />} onClick={() => void flow.zoomIn(gently())} />
            <IconButton small label="Show all (f)" icon={<Maximize />} onClick={() => void flow.fitView({ ...FIT, ...gently() })} />
          </Panel>
          <Panel position="bottom-left" className={styles.lines} aria-hidden>
            {KINDS.filter(([kind]) => laid.drawn.edges.some((edge) => edge.kind === kind)).map(([kind, look, words]) => (
              <span key={kind}>
                <svg width="22" height="6">
                  <title>{words}</title>
                  <path className={styles[look]} d="M0,3H22" />
                </svg>
                {words}
              </span>
            ))}
          </Panel>
          {busy && (
            <Panel position="top-left" className={styles.busy}>
              <span role="status">Laying out …</span>
            </Panel>
          )}
          {children}
        </ReactFlow>
        {hint && <Resting frame={frame} find={find} hint={hint} />}
        <p className="visually-hidden" aria-live="polite">
          {chosen ? `${nameOf(chosen, chosen.id)}, ${lookOf(chosen.status).text}` : ""}
        </p>
      </div>
    </Surroundings.Provider>
  );
}

const NO_EDGES: never[] = [];
const KINDS = [
  ["after", "after", "after"],
  ["after_ended", "afterEnded", "after it ended"],
  ["spawn", "spawn", "spawned"],
] as const;

function gently(): { duration: number } {
  return { duration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200 };
}

function firstSeen(laid: Laid, board: Board<Carded>, selected: string | null): { id: string }[] {
  if (selected !== null && laid.places.has(selected)) return [{ id: selected }];
  const running = laid.drawn.nodes.filter((node) => RUNS.has(board.get(node.id)?.status ?? ""));
  const found = running.length > 0 ? running : laid.drawn.nodes;
  return found.slice(0, 1).map(({ id }) => ({ id }));
}

/** Moves the view only as far as needed for a node to be seen whole. */
async function bringInSight(flow: ReturnType<typeof useReactFlow>, laid: Laid, id: string, frame: HTMLElement | null): Promise<void> {
  const place = laid.places.get(id);
  if (!place || !frame) return;
  const { x, y, zoom } = flow.getViewport();
  const left = place.x * zoom + x;
  const top = place.y * zoom + y;
  const margin = 24;
  const inside =
    left >= margin &&
    top >= margin &&
    left + WIDTH * zoom <= frame.clientWidth - margin &&
    top + HEIGHT * zoom <= frame.clientHeight - margin;
  if (inside && zoom >= FAR) return;
  await flow.setCenter(place.x + WIDTH / 2, place.y + HEIGHT / 2, { zoom: Math.max(zoom, 0.8), ...gently() });
}

/** Keeps what runs in sight, whenever that is something else. */
function useFollow(on: boolean, board: Board<Carded>, laid: Laid): void {
  const flow = useReactFlow();
  const version = useBoard(board);
  const last = useRef("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that the board has changed
  useEffect(() => {
    if (!on) {
      last.current = "";
      return;
    }
    const running = laid.drawn.nodes.filter(
      (node) =>
        RUNS.has(board.get(node.id)?.status ?? "") ||
        (node.folded && board.pick(node.below).some((task) => RUNS.has(task.status))),
    );
    const which = running.map((node) => node.id).join(" ");
    if (which === "" || which === last.current) return;
    last.current = which;
    void flow.fitView({ nodes: running.map(({ id }) => ({ id })), ...FIT, padding: 0.3, minZoom: 0.35, ...gently() });
  }, [on, version, laid, flow, board]);
}

/** Edges whose middles are within one square of this size are one path. */
const SQUARE = 640;

type Bundle = { key: string; look: string; path: string; heads: string };

function bundled(laid: Laid): Bundle[] {
  const bundles = new Map<string, Bundle>();
  const add = (look: string, square: string, path: string, arrow: string) => {
    const key = `${look} ${square}`;
    const bundle = bundles.get(key) ?? { key, look, path: "", heads: "" };
    bundle.path += path;
    bundle.heads += arrow;
    bundles.set(key, bundle);
  };
  for (const edge of laid.drawn.edges) {
    const way = laid.ways.get(edge.id);
    const start = laid.places.get(edge.from);
    if (!way || !start) continue;
    const square = `${Math.round((start.x + way.end.x) / 2 / SQUARE)} ${Math.round((start.y + way.end.y) / 2 / SQUARE)}`;
    add(LOOKS[edge.kind], square, way.path, head(way.end));
    if (edge.critical) add("onPath", square, way.path, head(way.end));
  }
  // What is on the critical path is drawn over the rest.
  return [...bundles.values()].sort((one, other) => Number(one.look === "onPath") - Number(other.look === "onPath"));
}

const LOOKS = { after: "after", after_ended: "afterEnded", spawn: "spawn" } as const;

function Edges({ laid, selected }: { laid: Laid; selected: string | null }) {
  const bundles = useMemo(() => bundled(laid), [laid]);
  const near = useMemo(() => {
    if (selected === null) return "";
    const own = (edge: DrawnEdge) => edge.from === selected || edge.to === selected;
    return laid.drawn.edges
      .filter(own)
      .map((edge) => laid.ways.get(edge.id)?.path ?? "")
      .join("");
  }, [laid, selected]);
  return (
    <ViewportPortal>
      <svg className={styles.edges} aria-hidden role="presentation">
        {bundles.map(({ key, look, path, heads }) => (
          <g key={key} className={styles[look]}>
            <path d={path} />
            <path className={styles.head} d={heads} />
          </g>
        ))}
        {near && <path className={styles.near} d={near} />}
      </svg>
    </ViewportPortal>
  );
}

const head = ({ x, y }: { x: number; y: number }): string => `M${x},${y}l-7,-4v8z`;

/** The whole graph in a corner, in the colours of its tasks; brought up to date every few seconds. */
function Overview({ board }: { board: Board<Carded> }) {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let timer = 0;
    const leave = board.watchAll(() => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        setVersion(board.version);
      }, 2_000);
    });
    return () => {
      leave();
      window.clearTimeout(timer);
    };
  }, [board]);
  const colour = useMemo(
    () => (node: FlowNode) => {
      const task = board.get(node.id);
      // The version says when to look again.
      return version < 0 ? "" : `var(--${task?.parked_on ? "amber" : lookOf(task?.status ?? "pending").tone})`;
    },
    [board, version],
  );
  return <MiniMap className={styles.map ?? ""} nodeColor={colour} nodeStrokeWidth={0} nodeBorderRadius={6} pannable zoomable ariaLabel="The whole graph" />;
}

/** A hint beside the node on which the pointer rests; `find` says which one that is. */
type RestingProps = { frame: React.RefObject<HTMLDivElement | null>; find: (event: PointerEvent) => HTMLElement | null; hint: (id: string) => ReactNode };

function Resting({ frame, find, hint }: RestingProps) {
  const [at, setAt] = useState<{ id: string; left: number; top: number; above: boolean } | null>(null);
  // A pointer that rests goes on resting when the picture is drawn anew.
  const finding = useRef(find);
  finding.current = find;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    let timer = 0;
    let over: string | null = null;
    const leave = () => {
      window.clearTimeout(timer);
      over = null;
      setAt(null);
    };
    const onOver = (event: PointerEvent) => {
      // While a button is pressed the picture is moved.
      if (event.pointerType === "touch" || event.buttons !== 0) return;
      const node = finding.current(event);
      const id = node?.dataset.task ?? null;
      if (id === over) return;
      leave();
      if (!node || !id) return;
      over = id;
      timer = window.setTimeout(() => {
        const outer = element.getBoundingClientRect();
        const inner = (document.getElementById(node.id) ?? node).getBoundingClientRect();
        const left = Math.max(8, Math.min(inner.left - outer.left, outer.width - 328));
        const above = inner.bottom - outer.top > outer.height - 160;
        setAt({ id, left, top: above ? outer.bottom - inner.top + 6 : inner.bottom - outer.top + 6, above });
      }, REST_MS);
    };
    element.addEventListener("pointermove", onOver);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("pointerdown", leave);
    element.addEventListener("wheel", leave, { passive: true });
    return () => {
      window.clearTimeout(timer);
      element.removeEventListener("pointermove", onOver);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("pointerdown", leave);
      element.removeEventListener("wheel", leave);
    };
  }, [frame]);
  if (!at) return null;
  return (
    <div className={styles.hint} role="tooltip" style={{ left: at.left, [at.above ? "bottom" : "top"]: at.top }}>
      {hint(at.id)}
    </div>
  );
}
