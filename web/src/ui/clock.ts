// The time as the server has it, and one ticker for everything on the page that shows how long ago something was.
import { useSyncExternalStore } from "react";

let ahead = 0;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const watchers = new Set<() => void>();

/** Milliseconds since 1970, by the server's clock. */
export function serverNow(): number {
  return Date.now() + ahead;
}

/** The server's clock read so many milliseconds when this machine's read `here`. */
export function setServerClock(there: number, here = Date.now()): void {
  ahead = Math.abs(there - here) < 1_000 ? 0 : there - here;
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  now = Date.now();
  timer ??= setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const one of watchers) one();
  }, 1_000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The server's time in milliseconds, anew every second. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => now) + ahead;
}
