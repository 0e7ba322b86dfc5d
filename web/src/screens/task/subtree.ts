/**
 * What ends with a task when it is cancelled: what depends on it, and what it spawned, and so on from there. A task that
 * only waits for its end (`after_ended`) goes on.
 */

interface Known {
  id: string;
  status?: string;
  parent_id?: string | null;
}

interface Edge {
  parent: string;
  child: string;
  kind?: string;
}

const FINAL = new Set(["completed", "dead_lettered", "cancelled"]);

/** The ids, the task itself among them, of those that have not ended. */
export function subtree(id: string, tasks: readonly Known[], edges: readonly Edge[]): string[] {
  const below = new Map<string, string[]>();
  const put = (parent: string, child: string) => below.set(parent, [...(below.get(parent) ?? []), child]);
  for (const edge of edges) if ((edge.kind ?? "after") === "after") put(edge.parent, edge.child);
  for (const task of tasks) if (task.parent_id) put(task.parent_id, task.id);
  const status = new Map(tasks.map((task) => [task.id, task.status ?? "pending"]));
  const reached = new Set([id]);
  for (const each of reached) {
    for (const child of below.get(each) ?? []) if (!FINAL.has(status.get(child) ?? "pending")) reached.add(child);
  }
  return [...reached].filter((each) => !FINAL.has(status.get(each) ?? "pending"));
}
