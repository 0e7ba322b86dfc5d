/**
 * The tasks that a page shows, as last heard of. Whoever shows one task hears of that task alone.
 *
 * The rule: a task that comes twice unchanged wakes nobody, and a batch wakes each listener once.
 */
import { useCallback, useSyncExternalStore } from "react";

export interface Boarded {
  id: string;
  status: string;
  updated_at?: string | null;
  renewed_at?: string | null;
}

type Wake = () => void;

export class Board<T extends Boarded> {
  private readonly tasks = new Map<string, T>();
  private readonly ofOne = new Map<string, Set<Wake>>();
  private readonly ofAll = new Set<Wake>();
  private changes = 0;

  /** Grows with every batch that changed something. */
  get version(): number {
    return this.changes;
  }

  get(id: string): T | undefined {
    return this.tasks.get(id);
  }

  /** What is known of each of these, unknown ones left out. */
  pick(ids: Iterable<string>): T[] {
    const found: T[] = [];
    for (const id of ids) {
      const task = this.tasks.get(id);
      if (task) found.push(task);
    }
    return found;
  }

  put(tasks: Iterable<T | null>): void {
    const changed: string[] = [];
    for (const task of tasks) {
      if (!task) continue;
      const before = this.tasks.get(task.id);
      if (before && same(before, task)) continue;
      this.tasks.set(task.id, task);
      changed.push(task.id);
    }
    if (changed.length === 0) return;
    this.changes += 1;
    for (const id of changed) for (const wake of this.ofOne.get(id) ?? []) wake();
    for (const wake of this.ofAll) wake();
  }

  watch(id: string, wake: Wake): () => void {
    const watchers = this.ofOne.get(id) ?? new Set();
    this.ofOne.set(id, watchers.add(wake));
    return () => {
      watchers.delete(wake);
      if (watchers.size === 0 && this.ofOne.get(id) === watchers) this.ofOne.delete(id);
    };
  }

  watchAll(wake: Wake): () => void {
    this.ofAll.add(wake);
    return () => this.ofAll.delete(wake);
  }
}

function same<T extends Boarded>(one: T, other: T): boolean {
  return (
    one.updated_at != null &&
    one.updated_at === other.updated_at &&
    one.renewed_at === other.renewed_at &&
    one.status === other.status
  );
}

export function useBoarded<T extends Boarded>(board: Board<T>, id: string): T | undefined {
  const watch = useCallback((wake: Wake) => board.watch(id, wake), [board, id]);
  return useSyncExternalStore(watch, () => board.get(id));
}

/** Draws anew whenever anything on the board changed; its version, to remember what was worked out of it. */
export function useBoard<T extends Boarded>(board: Board<T>): number {
  const watch = useCallback((wake: Wake) => board.watchAll(wake), [board]);
  return useSyncExternalStore(watch, () => board.version);
}

/** How many of these are in which status, of those that are known. */
export function countByStatus(tasks: Iterable<{ status: string }>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}
