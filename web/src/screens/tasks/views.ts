/** Views: a query and a name. A few are there from the start; others are kept in this browser. */

export interface View {
  name: string;
  query: string;
}

export const BUILT_IN: readonly View[] = [
  { name: "All", query: "" },
  { name: "Needs me", query: "status:waiting" },
  { name: "Running", query: "status:claimed,running,validating" },
  { name: "Failing", query: "status:retrying,dead_lettered" },
  { name: "Parked", query: "parked:yes" },
  { name: "Expensive", query: "cost>1" },
];

const KEPT = "dibs.tasks.views";
const MOST = 50;
const MAX_NAME = 60;

/** The views that were saved here; whatever else is found in their place is not believed. */
export function savedViews(): View[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(found) ? found.filter(isView).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Keep a view under its name, in the place of one of that name. */
export function saveView(view: View): View[] {
  const kept = { ...view, name: view.name.trim().slice(0, MAX_NAME) };
  return keep([...savedViews().filter((other) => other.name !== kept.name), kept].slice(-MOST));
}

/** Forget a view. */
export function forgetView(name: string): View[] {
  return keep(savedViews().filter((view) => view.name !== name));
}

function keep(views: View[]): View[] {
  try {
    localStorage.setItem(KEPT, JSON.stringify(views));
  } catch {
    // A browser that keeps nothing has its views until it is closed.
  }
  return views;
}

function isView(found: unknown): found is View {
  if (typeof found !== "object" || found === null) return false;
  const view = found as Record<string, unknown>;
  return typeof view.name === "string" && typeof view.query === "string";
}
