// Keys for the whole page: one ("/", "?") or two in a row ("g t"). Not while something is typed into a field.
import { useEffect, useRef } from "react";

export type Key = { keys: string; about: string; run: () => void };

const PAUSE_MS = 900;

/** Whether a key pressed there is text, or belongs to what is open above the page. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  const on = event.target as HTMLElement | null;
  return on?.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=dialog], [role=menu]") != null;
}

export function useKeys(keys: Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let before = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const on = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const pressed = before ? `${before} ${event.key}` : event.key;
      before = "";
      clearTimeout(timer);
      const found = latest.current.find((key) => key.keys === pressed);
      if (found) {
        event.preventDefault();
        found.run();
      } else if (latest.current.some((key) => key.keys.startsWith(`${pressed} `))) {
        before = pressed;
        timer = setTimeout(() => {
          before = "";
        }, PAUSE_MS);
      }
    };
    window.addEventListener("keydown", on);
    return () => {
      window.removeEventListener("keydown", on);
      clearTimeout(timer);
    };
  }, []);
}
