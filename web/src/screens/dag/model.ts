/**
 * What is drawn of a dag: nodes and edges as they are seen, with sub-graphs folded away.
 *
 * The rule: structure only. What changes with every event (status, progress, cost) is read from the board by each node
 * itself, so that an event redraws one node and lays out nothing.
 *
 * A task that spawned others is the root of a sub-graph. Folded, it stands for all below it: edges of hidden tasks are
 * drawn at the nearest task that is seen, and those inside vanish. An edge of kind `child` says that the spawner waits
 * for what it spawned; drawn is the spawning instead, since both ways at once would be a circle to the eye.
 */

export interface GraphTask {
  id: string;
  parent_id?: string | null;
}

export interface GraphEdge {
  parent: string;
  child: string;
  kind?: string;
}

export type EdgeKind = "after" | "after_ended" | "spawn";

export interface DrawnNode {
  id: string;
  /** It belongs to another dag; only the edge from it belongs to this one. */
  outside: boolean;
  critical: boolean;
  /** All tasks below it that it spawned, and those they spawned. */
  below: readonly string[];
  folded: boolean;
}

export interface DrawnEdge {
  id: string;
  from: string;
  to: string;
  kind: EdgeKind;
  critical: boolean;
}

export interface Drawn {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

/** The tasks below each task that spawned any, at every depth, nearest first. */
export function subgraphs(tasks: readonly GraphTask[]): Map<string, string[]> {
  const known = new Set(tasks.map((task) => task.id));
  const children = new Map<string, string[]>();
  for (const task of tasks) {
    if (task.parent_id && known.has(task.parent_id)) {
      const siblings = children.get(task.parent_id);
      if (siblings) siblings.push(task.id);
      else children.set(task.parent_id, [task.id]);
    }
  }
  const below = new Map<string, string[]>();
  for (const root of children.keys()) {
    const found: string[] = [];
    const seen = new Set([root]);
    let level = children.get(root) ?? [];
    while (level.length > 0) {
      const next: string[] = [];
      for (const id of level) {
        if (seen.has(id)) continue;
        seen.add(id);
        found.push(id);
        next.push(...(children.get(id) ?? []));
      }
      level = next;
    }
    below.set(root, found);
  }
  return below;
}

/** For each task, the one that is seen in its place: itself, or the outermost folded task above it. */
export function standIns(tasks: readonly GraphTask[], folded: ReadonlySet<string>): Map<string, string> {
  const parents = new Map(tasks.map((task) => [task.id, task.parent_id ?? null]));
  const places = new Map<string, string>();
  for (const task of tasks) {
    let place = task.id;
    const seen = new Set([task.id]);
    for (let above = parents.get(task.id); above && parents.has(above); above = parents.get(above)) {
      if (seen.has(above)) break;
      seen.add(above);
      if (folded.has(above)) place = above;
    }
    places.set(task.id, place);
  }
  return places;
}

export function drawn(
  tasks: readonly GraphTask[],
  edges: readonly GraphEdge[],
  folded: ReadonlySet<string>,
  criticalPath: readonly string[] = [],
): Drawn {
  const below = subgraphs(tasks);
  const places = standIns(tasks, folded);
  const critical = new Set(criticalPath.map((id) => places.get(id) ?? id));
  const steps = new Set<string>();
  for (let at = 1; at < criticalPath.length; at += 1) {
    const from = criticalPath[at - 1] as string;
    const to = criticalPath[at] as string;
    steps.add(`${places.get(from) ?? from}\n${places.get(to) ?? to}`);
  }

  const nodes: DrawnNode[] = [];
  for (const task of tasks) {
    if (places.get(task.id) !== task.id) continue;
    const inside = below.get(task.id) ?? [];
    nodes.push({
      id: task.id,
      outside: false,
      critical: critical.has(task.id),
      below: inside,
      folded: inside.length > 0 && folded.has(task.id),
    });
  }

  const lines = new Map<string, DrawnEdge>();
  const strangers = new Set<string>();
  const draw = (from: string, to: string, kind: EdgeKind): void => {
    const start = places.get(from) ?? from;
    const end = places.get(to) ?? to;
    if (start === end) return;
    const id = `${start}>${end}`;
    const there = lines.get(id);
    if (there && (there.kind !== "spawn" || kind === "spawn")) return;
    lines.set(id, { id, from: start, to: end, kind, critical: steps.has(`${start}\n${end}`) });
  };
  for (const edge of edges) {
    if (edge.kind === "child" || !places.has(edge.child)) continue;
    if (!places.has(edge.parent)) strangers.add(edge.parent);
    draw(edge.parent, edge.child, edge.kind === "after_ended" ? "after_ended" : "after");
  }
  for (const task of tasks) {
    if (task.parent_id && places.has(task.parent_id)) draw(task.parent_id, task.id, "spawn");
  }
  for (const id of strangers) nodes.push({ id, outside: true, critical: false, below: [], folded: false });
  return { nodes, edges: [...lines.values()] };
}

/** Whether two drawings have the same nodes and edges, so that the layout of one is the layout of the other. */
export function sameShape(one: Drawn, other: Drawn): boolean {
  return (
    one.nodes.length === other.nodes.length &&
    one.edges.length === other.edges.length &&
    one.nodes.every((node, at) => node.id === other.nodes[at]?.id) &&
    one.edges.every((edge, at) => edge.id === other.edges[at]?.id)
  );
}

/** From this many tasks on, sub-graphs are folded when a dag is opened. */
export const FOLD_FROM = 150;

/** What is folded at first: nothing in a small dag, every sub-graph in a large one. */
export function foldedAtFirst(tasks: readonly GraphTask[]): Set<string> {
  return tasks.length < FOLD_FROM ? new Set() : new Set(subgraphs(tasks).keys());
}
