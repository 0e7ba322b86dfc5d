// The strip: what waits for a person, what is wrong, what it costs. Each figure leads to where something can be done.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Schemas, useInbox, useOverview } from "../../api";
import { Ago, cx, duration, Loaded, money, plural } from "../../ui";
import styles from "./Now.module.css";

type Overview = Schemas["Overview"];

/** How many questions the inbox reads. */
const LISTED = 100;

export function Strip() {
  return (
    <Loaded of={useOverview()} height={74}>
      {(overview) => <Figures overview={overview} />}
    </Loaded>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const pace: Partial<Schemas["Pace"]> = overview.pace ?? {};
  const stalled = overview.stalled.length;
  // What has no known price makes the sum a lower bound.
  const unpriced = pace.unpriced ?? 0;
  // What is listed below, as long as all of it is: the two are read at different moments.
  const inbox = useInbox().data;
  const questions = inbox && inbox.length < LISTED ? { count: inbox.length, more: false } : overview.questions;
  const soon = pace.cap_in_s != null && pace.cap_in_s < 6 * 3_600;
  return (
    <ul className={styles.strip} aria-label="At a glance">
      <Figure
        to="/"
        hash="inbox"
        name="Needs you"
        tone={questions.count ? "amber" : undefined}
        about={questions.count ? "answer below" : "nothing waits for you"}
      >
        {many(questions)}
      </Figure>
      <Figure
        to="/dead-letters"
        name="Dead letters"
        tone={overview.dead_letters.count ? "red" : undefined}
        about="not decided about"
      >
        {many(overview.dead_letters)}
      </Figure>
      <Figure
        to="/tasks"
        search={{ q: "status:running,claimed" }}
        name="Stalled leases"
        tone={stalled ? "red" : undefined}
        about={stalled ? "missed a renewal" : "all renewed in time"}
      >
        {stalled}
      </Figure>
      <Figure
        to="/gates"
        name="Open breakers"
        tone={overview.open_breakers.length ? "red" : undefined}
        about={
          overview.open_breakers.join(", ") ||
          (overview.paused.length ? plural(overview.paused.length, "pause") : "everything flows")
        }
      >
        {overview.open_breakers.length}
      </Figure>
      <Figure
        to="/cost"
        name="Spent today"
        about={
          (unpriced ? `${unpriced.toLocaleString("en-US")} unpriced; ` : "") +
          (pace.limit_usd == null
            ? "no budget in USD"
            : `${money(pace.left_usd ?? 0)} of ${money(pace.limit_usd)} left (${pace.scope})`)
        }
      >
        {unpriced ? "≥ " : ""}
        {money(pace.spent_usd ?? 0)}
      </Figure>
      <Figure
        to="/gates"
        name="Burn rate"
        tone={soon ? "amber" : undefined}
        about={pace.cap_in_s == null ? "no cap in sight" : `cap in ${duration(pace.cap_in_s)}`}
      >
        {money(pace.per_hour_usd ?? 0)}
        <small>/h</small>
      </Figure>
      <Figure
        to="/tasks"
        search={{ q: "status:ready" }}
        name="Oldest ready"
        about={`${plural(overview.tasks.ready ?? 0, "task")} ready`}
      >
        {overview.oldest_ready_at == null ? "–" : <Ago at={overview.oldest_ready_at} />}
      </Figure>
    </ul>
  );
}

function many({ count, more }: Schemas["Count"]): string {
  return more ? `${count.toLocaleString()}+` : count.toLocaleString();
}

type FigureProps = {
  name: string;
  about: string;
  tone?: "amber" | "red" | undefined;
  to: "/" | "/dead-letters" | "/tasks" | "/gates" | "/cost";
  search?: Record<string, string>;
  hash?: string;
  children: ReactNode;
};

function Figure({ name, about, tone, to, search, hash, children }: FigureProps) {
  return (
    <li>
      <Link
        to={to}
        search={(search ?? {}) as never}
        {...(hash ? { hash } : {})}
        className={cx(styles.figure, tone && styles[tone])}
      >
        <span className={styles.name}>{name}</span>
        <span className={styles.value}>{children}</span>
        <span className={styles.about} title={about}>
          {about}
        </span>
      </Link>
    </li>
  );
}
