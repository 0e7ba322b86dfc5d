/**
 * Where the nodes of a graph stand and the edges run: left to right, by dagre. Tasks without any edge stand in a grid
 * below the rest, because a column of a thousand of them is no picture.
 *
 * Dagre's best ranks take more than a minute for a thousand nodes, and its best order some seconds; so large graphs get
 * the second best of both, in about one second.
 */
import { Graph, layout } from "@dagrejs/dagre";
import { curveMonotoneX, line } from "d3-shape";

export interface Place {
  x: number;
  y: number;
}

export interface Way {
  /** The line, as an SVG path. */
  path: string;
  /** Where it arrives. */
  end: Place;
}

export interface ToArrange {
  nodes: string[];
  edges: [id: string, from: string, to: string][];
}

export interface Arranged {
  /** The upper left corner of each node. */
  places: Map<string, Place>;
  /** How each edge runs. */
  ways: Map<string, Way>;
}

export const WIDTH = 208;
export const HEIGHT = 52;
const BETWEEN_RANKS = 64;
const BETWEEN_NODES = 16;
const BEST_RANKS_UP_TO = 120;
const BEST_ORDER_UP_TO = 300;
/** Room for the head of the arrow. */
const ARROW = 6;

const drawLine = line<Place>(
  ({ x }) => x,
  ({ y }) => y,
)
  .curve(curveMonotoneX)
  .digits(1);

export function arrange({ nodes, edges }: ToArrange): Arranged {
  const joined = new Set(edges.flatMap(([, from, to]) => [from, to]));
  const graph = new Graph();
  graph.setGraph({
    rankdir: "LR",
    ranksep: BETWEEN_RANKS,
    nodesep: BETWEEN_NODES,
    edgesep: BETWEEN_NODES / 2,
    ranker: nodes.length > BEST_RANKS_UP_TO ? "tight-tree" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of nodes) if (joined.has(id)) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const [, from, to] of edges) graph.setEdge(from, to);
  if (graph.nodeCount() > 0) layout(graph, { disableOptimalOrderHeuristic: nodes.length > BEST_ORDER_UP_TO });

  const places = new Map<string, Place>();
  let bottom = 0;
  for (const id of graph.nodes()) {
    const { x, y } = graph.node(id) as Place;
    places.set(id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 });
    bottom = Math.max(bottom, y + HEIGHT / 2 + 2 * BETWEEN_NODES);
  }
  const alone = nodes.filter((id) => !joined.has(id));
  const columns = Math.max(1, Math.ceil(Math.sqrt(alone.length / 3)));
  for (const [at, id] of alone.entries()) {
    places.set(id, {
      x: (at % columns) * (WIDTH + BETWEEN_NODES),
      y: bottom + Math.floor(at / columns) * (HEIGHT + BETWEEN_NODES),
    });
  }

  const ways = new Map<string, Way>();
  for (const [id, from, to] of edges) {
    const { points } = graph.edge(from, to) as { points: Place[] };
    const start = places.get(from) as Place;
    const end = places.get(to) as Place;
    const arrival = { x: end.x, y: end.y + HEIGHT / 2 };
    // From the middle of a side to the middle of a side; what dagre routes around lies between.
    const between = points.slice(1, -1).filter(({ x }) => x > start.x + WIDTH && x < end.x - ARROW);
    const course = [
      { x: start.x + WIDTH, y: start.y + HEIGHT / 2 },
      ...(points.length > 3 ? between : []),
      { x: arrival.x - ARROW, y: arrival.y },
    ];
    ways.set(id, { path: points.length > 3 ? (drawLine(course) ?? "") : bow(course[0] as Place, course[1] as Place), end: arrival });
  }
  return { places, ways };
}

/** A line between neighbours that leaves and arrives level. */
function bow(from: Place, to: Place): string {
  const middle = ((from.x + to.x) / 2).toFixed(1);
  return `M${from.x.toFixed(1)},${from.y.toFixed(1)}C${middle},${from.y.toFixed(1)},${middle},${to.y.toFixed(1)},${to.x.toFixed(1)},${to.y.toFixed(1)}`;
}
