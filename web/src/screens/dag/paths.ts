/** Chains through a graph: the longest, and those that end where they began. Iterative, since a chain may be long. */

export interface Step {
  parent: string;
  child: string;
}

function childrenOf(edges: readonly Step[]): Map<string, string[]> {
  const children = new Map<string, string[]>();
  for (const edge of edges) {
    const known = children.get(edge.parent);
    if (known) known.push(edge.child);
    else children.set(edge.parent, [edge.child]);
  }
  return children;
}

/** The nodes of a cycle in the order of its edges, the first repeated at the end; null without one. */
export function findCycle(edges: readonly Step[]): string[] | null {
  const children = childrenOf(edges);
  const finished = new Set<string>();
  for (const start of children.keys()) {
    if (finished.has(start)) continue;
    const path = [start];
    const onPath = new Set(path);
    const next = [0];
    while (path.length > 0) {
      const node = path[path.length - 1] as string;
      const at = next[next.length - 1] as number;
      const child = children.get(node)?.[at];
      if (child === undefined) {
        path.pop();
        next.pop();
        onPath.delete(node);
        finished.add(node);
        continue;
      }
      next[next.length - 1] = at + 1;
      if (onPath.has(child)) return [...path.slice(path.indexOf(child)), child];
      if (finished.has(child)) continue;
      path.push(child);
      onPath.add(child);
      next.push(0);
    }
  }
  return null;
}

/** The longest chain, in order; of several, the one whose tasks were given first. Empty if there is a cycle. */
export function longestChain(nodes: readonly string[], edges: readonly Step[]): string[] {
  const known = new Set(nodes);
  const inner = edges.filter((edge) => known.has(edge.parent) && known.has(edge.child));
  const children = childrenOf(inner);
  const open = new Map(nodes.map((node) => [node, 0]));
  for (const edge of inner) open.set(edge.child, (open.get(edge.child) ?? 0) + 1);
  const free = nodes.filter((node) => open.get(node) === 0);
  const length = new Map(free.map((node) => [node, 1]));
  const before = new Map<string, string>();
  let ordered = 0;
  for (; ordered < free.length; ordered += 1) {
    const node = free[ordered] as string;
    for (const child of children.get(node) ?? []) {
      const through = (length.get(node) ?? 1) + 1;
      if (through > (length.get(child) ?? 0)) {
        length.set(child, through);
        before.set(child, node);
      }
      const left = (open.get(child) ?? 0) - 1;
      open.set(child, left);
      if (left === 0) free.push(child);
    }
  }
  if (ordered < nodes.length) return [];
  let end: string | undefined;
  for (const node of nodes) {
    if (end === undefined || (length.get(node) ?? 1) > (length.get(end) ?? 1)) end = node;
  }
  const chain: string[] = [];
  for (let node = end; node !== undefined; node = before.get(node)) chain.unshift(node);
  return chain;
}
