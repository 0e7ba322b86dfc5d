// Light, dark, or as the system has it; remembered in this browser.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "dibs.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}

let theme = stored();

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  for (const watcher of watchers) watcher();
}

dark.addEventListener("change", applyTheme);

export function setTheme(chosen: Theme): void {
  theme = chosen;
  try {
    if (chosen === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Not remembered, then.
  }
  applyTheme();
}

function watch(changed: () => void) {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function useTheme(): Theme {
  return useSyncExternalStore(watch, () => theme);
}

/** "light" or "dark": what is shown, for what draws on a canvas. */
export function useShownTheme(): "light" | "dark" {
  return useSyncExternalStore(watch, () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light"));
}
