// Where one can go: for the navigation, the palette and the keys.
import {
  Activity,
  CalendarClock,
  CircleDollarSign,
  FileClock,
  KeyRound,
  ListTodo,
  type LucideIcon,
  RadioTower,
  Skull,
  SquareActivity,
  SquarePlus,
  TrafficCone,
  Users,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";
import type { Operation } from "../api";

export type Place = {
  to:
    | "/"
    | "/tasks"
    | "/dags"
    | "/submit"
    | "/dead-letters"
    | "/agents"
    | "/gates"
    | "/schedules"
    | "/triggers"
    | "/hooks"
    | "/cost"
    | "/events"
    | "/tokens"
    | "/audit";
  name: string;
  icon: LucideIcon;
  keys: string;
  /** Shown to those who may do this. */
  needs?: Operation;
};

export const GROUPS: { name: string; places: Place[] }[] = [
  {
    name: "Work",
    places: [
      { to: "/", name: "Now", icon: SquareActivity, keys: "g n" },
      { to: "/tasks", name: "Tasks", icon: ListTodo, keys: "g t" },
      { to: "/dags", name: "Dags", icon: Workflow, keys: "g d" },
      { to: "/dead-letters", name: "Dead letters", icon: Skull, keys: "g x" },
      { to: "/submit", name: "Submit", icon: SquarePlus, keys: "g s", needs: "POST /v1/dags" },
    ],
  },
  {
    name: "Fleet",
    places: [
      { to: "/agents", name: "Agents", icon: Users, keys: "g a" },
      { to: "/gates", name: "Gates", icon: TrafficCone, keys: "g g" },
      { to: "/cost", name: "Cost", icon: CircleDollarSign, keys: "g c" },
      { to: "/events", name: "Events", icon: Activity, keys: "g e" },
    ],
  },
  {
    name: "Automation",
    places: [
      { to: "/schedules", name: "Schedules", icon: CalendarClock, keys: "g u" },
      { to: "/triggers", name: "Triggers", icon: Zap, keys: "g r" },
      { to: "/hooks", name: "Hooks", icon: Webhook, keys: "g h", needs: "GET /v1/hooks" },
    ],
  },
  {
    name: "Access",
    places: [
      { to: "/tokens", name: "Tokens", icon: KeyRound, keys: "g k", needs: "GET /v1/tokens" },
      { to: "/audit", name: "Audit", icon: FileClock, keys: "g l", needs: "GET /v1/audit" },
    ],
  },
];

export const LIVE_ICON = RadioTower;
