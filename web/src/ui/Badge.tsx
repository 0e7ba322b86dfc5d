import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  Circle,
  CirclePlay,
  CircleX,
  Clock,
  type LucideIcon,
  MessageCircleQuestion,
  RotateCw,
  ScanSearch,
} from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Badge.module.css";
import { cx } from "./classes";
import tones from "./tones.module.css";

export type Tone = "gray" | "blue" | "cyan" | "violet" | "amber" | "orange" | "green" | "red";

/** A word with a colour; `icon` says the same by its shape. */
export function Badge({
  tone = "gray",
  icon,
  title,
  children,
}: {
  tone?: Tone;
  icon?: ReactNode;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span className={cx(styles.badge, tones[tone])} title={title}>
      {icon}
      <span className={styles.text}>{children}</span>
    </span>
  );
}

const STATUSES: Record<string, { tone: Tone; icon: LucideIcon; text?: string }> = {
  pending: { tone: "gray", icon: CircleDashed },
  scheduled: { tone: "gray", icon: Clock },
  ready: { tone: "blue", icon: Circle },
  claimed: { tone: "cyan", icon: CircleDot },
  running: { tone: "cyan", icon: CirclePlay },
  validating: { tone: "violet", icon: ScanSearch },
  waiting: { tone: "amber", icon: MessageCircleQuestion },
  retrying: { tone: "orange", icon: RotateCw },
  completed: { tone: "green", icon: CircleCheck },
  dead_lettered: { tone: "red", icon: CircleX, text: "dead letter" },
  cancelled: { tone: "gray", icon: Ban },
  failed: { tone: "red", icon: CircleX },
  active: { tone: "green", icon: CirclePlay },
  draining: { tone: "amber", icon: CircleDot },
  lost: { tone: "red", icon: CircleX },
  offline: { tone: "gray", icon: Ban },
};

/** How a status looks: tone and icon, for what draws it elsewhere (graphs, charts). */
export function lookOf(status: string): { tone: Tone; icon: LucideIcon; text: string } {
  const known = STATUSES[status];
  return { tone: known?.tone ?? "gray", icon: known?.icon ?? CircleDashed, text: known?.text ?? status };
}

/** The status of a task, a dag or an agent: colour, shape and word. `parked`: it is ready, but a gate holds it. */
export function StatusBadge({ status, parked }: { status: string; parked?: string | null }) {
  const { tone, icon: Icon, text } = lookOf(status);
  return (
    <Badge
      tone={parked ? "amber" : tone}
      icon={<Icon aria-hidden />}
      {...(parked ? { title: `parked: ${parked}` } : {})}
    >
      {parked ? "parked" : text}
    </Badge>
  );
}
