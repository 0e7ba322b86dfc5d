// The routes: one line per screen, each loaded when it is first visited.
import { QueryClient } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { Refused } from "./api/client";
import { patiently } from "./api/patiently";
import { Crashed, NoSuchScreen } from "./shell/Crashed";
import { Frame } from "./shell/Frame";
import { parseSearch, type Search, stringifySearch } from "./shell/search";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 60_000,
      // What was refused will be again; a server that is away is asked again by the stream when it is back.
      retry: (failures, error) =>
        failures < 2 && error instanceof Refused && (error.status === 503 || error.status === 429),
      refetchOnWindowFocus: false,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const root = createRootRoute({
  component: Frame,
  errorComponent: Crashed,
  notFoundComponent: NoSuchScreen,
  validateSearch: (search: Record<string, unknown>) => search as Search,
});

function screen<const P extends string>(path: P, load: () => Promise<{ default: ComponentType }>) {
  // What was only pointed at is loaded, too; nobody's page begins anew for that.
  const part = patiently(load, () => isAt(path));
  return createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(part) });
}

function isAt(path: string): boolean {
  const here = window.location.pathname.split("/");
  const parts = path.split("/");
  return here.length === parts.length && parts.every((part, at) => part.startsWith("$") || part === here[at]);
}

const routes = root.addChildren([
  screen("/", () => import("./screens/now")),
  screen("/tasks", () => import("./screens/tasks")),
  screen("/tasks/$id", () => import("./screens/task")),
  screen("/dags", () => import("./screens/dags")),
  screen("/dags/$id", () => import("./screens/dag")),
  screen("/submit", () => import("./screens/submit")),
  screen("/dead-letters", () => import("./screens/dead-letters")),
  screen("/agents", () => import("./screens/agents")),
  screen("/gates", () => import("./screens/gates")),
  screen("/schedules", () => import("./screens/schedules")),
  screen("/triggers", () => import("./screens/triggers")),
  screen("/hooks", () => import("./screens/hooks")),
  screen("/cost", () => import("./screens/cost")),
  screen("/events", () => import("./screens/events")),
  screen("/tokens", () => import("./screens/tokens")),
  screen("/audit", () => import("./screens/audit")),
  screen("/login", () => import("./screens/login")),
]);

export const router = createRouter({
  routeTree: routes,
  defaultPreload: "intent",
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
