/** When each task waited and worked. Waiting is never drawn like work. */
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { scaleTime } from "d3-scale";
import { ZoomIn, ZoomOut } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { cx, duration, IconButton, lookOf, plural, tones, useNow } from "../../ui";
import { type Board, useBoard } from "./board";
import styles from "./Gantt.module.css";
import { type Row, rowsOf, type Stretch, spanOf, type TimedAttempt, type TimedTask } from "./gantt";
import { type Carded, nameOf } from "./Node";

type GanttTask = Carded & TimedTask;

type GanttProps = {
  board: Board<GanttTask>;
  ids: readonly string[];
  /** Attempts that ended, by task. */
  attempts: ReadonlyMap<string, readonly TimedAttempt[]>;
  critical: ReadonlySet<string>;
};

const ROW = 28;
const NONE: readonly [number, number] = [0, 1];
const WIDEST = 64;
const BETWEEN_TICKS = 110;

const TONES: Record<string, string> = {
  completed: "green",
  failed: "red",
  timed_out: "red",
  expired: "red",
  rejected: "red",
  cancelled: "gray",
  released: "gray",
  rate_limited: "orange",
  suspended: "amber",
  submitted: "violet",
};

const PHASES: Record<string, string> = {
  queue: "waiting for an agent",
  retry: "waiting to be tried again",
  paused: "waiting for a person or for what it spawned",
  run: "working",
};

export function Gantt({ board, ids, attempts, critical }: GanttProps) {
  const version = useBoard(board);
  const now = useNow();
  const [wide, setWide] = useState(1);
  const [room, setRoom] = useState(800);
  const frame = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that the board has changed
  const rows = useMemo(() => rowsOf(board.pick(ids), attempts, now), [board, ids, attempts, version, now]);
  const span = spanOf(rows, now);
  const scale = scaleTime()
    .domain(span ?? NONE)
    .range([0, 100]);
  const ticks = span ? scale.ticks(Math.max(2, Math.floor((room * wide) / BETWEEN_TICKS))) : [];
  const written = scale.tickFormat(ticks.length, formatOf(ticks));
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => frame.current, estimateSize: () => ROW, overscan: 12 });
  const left = (at: number) => `${scale(at)}%`;

  return (
    <div className={styles.gantt}>
      <div className={styles.legend}>
        <span className={styles.key}>
          <i className={styles.queue} /> queued
        </span>
        <span className={styles.key}>
          <i className={cx(styles.run, tones.cyan)} /> running
        </span>
        <span className={styles.key}>
          <i className={cx(styles.run, tones.green)} /> completed
        </span>
        <span className={styles.key}>
          <i className={cx(styles.run, tones.red)} /> failed
        </span>
        <span className={styles.key}>
          <i className={styles.retry} /> until retried
        </span>
        <span className={styles.key}>
          <i className={styles.paused} /> waiting
        </span>
        <span className={styles.zoom}>
          <IconButton small label="Narrower" icon={<ZoomOut />} disabled={wide <= 1} onClick={() => setWide(Math.max(1, wide / 2))} />
          <IconButton small label="Wider" icon={<ZoomIn />} disabled={wide >= WIDEST} onClick={() => setWide(Math.min(WIDEST, wide * 2))} />
        </span>
      </div>
      <section
        ref={(element) => {
          frame.current = element;
          if (element && Math.abs(element.clientWidth - room) > 40) setRoom(element.clientWidth);
        }}
        className={styles.frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
        tabIndex={0}
        aria-label="When each task waited and worked"
      >
        <div className={styles.inner} style={{ width: `calc(var(--names) + (100% - var(--names)) * ${wide})` }}>
          <div className={styles.axis} aria-hidden>
            <div className={styles.ticks}>
              {ticks.map((tick) => (
                <span key={+tick} style={{ left: left(+tick) }}>
                  {written(tick)}
                </span>
              ))}
            </div>
          </div>
          <ul className={styles.rows} style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index] as Row;
              const task = board.get(row.id);
              return (
                <li key={row.id} className={styles.row} style={{ transform: `translateY(${item.start}px)` }}>
                  <GanttName row={row} task={task} critical={critical.has(row.id)} />
                  <div className={styles.times}>
                    {ticks.map((tick) => (
                      <i key={+tick} className={styles.line} style={{ left: left(+tick) }} />
                    ))}
                    {row.stretches.map((part, at) => (
                      <span
                        key={at}
                        className={cx(styles.bar, styles[part.phase], part.phase === "run" && tones[toneOf(part)], part.to === null && styles.lasts)}
                        style={{ left: left(part.from), width: `${scale(part.to ?? now) - scale(part.from)}%` }}
                        title={wordsOf(part, now)}
                      />
                    ))}
                  </div>
                </li>
              );
            })}
          </ul>
        </div>
      </section>
    </div>
  );
}

/** As much of the time as tells two ticks apart. */
function formatOf([first, second]: Date[]): string {
  const step = first && second ? +second - +first : 1_000;
  if (step < 1_000) return "%H:%M:%S.%L";
  if (step < 60_000) return "%H:%M:%S";
  return step < 86_400_000 ? "%H:%M" : "%d %b";
}

function GanttName({ row, task, critical }: { row: Row; task: GanttTask | undefined; critical: boolean }) {
  const { icon: Icon, tone, text } = lookOf(task?.status ?? "pending");
  const worked = row.stretches.filter((part) => part.phase === "run").length;
  return (
    <div className={cx(styles.name, critical && styles.critical)}>
      <Icon aria-hidden className={tones[tone]} />
      <Link to="/tasks/$id" params={{ id: row.id }} className="truncate" title={nameOf(task, row.id).slice(0, 500)}>
        <bdi>{nameOf(task, row.id)}</bdi>
        <span className="visually-hidden">
          , {text}, queued {duration(row.queuedMs / 1_000)}, worked {duration(row.ranMs / 1_000)} in {plural(worked, "claim")}
          {critical ? ", on the critical path" : ""}
        </span>
      </Link>
      <span className={styles.took} aria-hidden title={`queued ${duration(row.queuedMs / 1_000)}, worked ${duration(row.ranMs / 1_000)}`}>
        {row.ranMs > 0 ? duration(row.ranMs / 1_000) : ""}
      </span>
    </div>
  );
}

function toneOf(part: Stretch): string {
  return part.to === null ? "cyan" : (TONES[part.outcome ?? ""] ?? "gray");
}

function wordsOf(part: Stretch, now: number): string {
  const length = duration(((part.to ?? now) - part.from) / 1_000);
  const lasts = part.to === null ? " so far" : "";
  const attempt = part.attempt;
  if (part.phase !== "run") return `${PHASES[part.phase]}, ${length}${lasts}`;
  const words = [attempt?.number ? `attempt ${attempt.number}` : "", part.outcome ?? PHASES.run ?? "", `${length}${lasts}`];
  if (attempt) words.push(attempt.agent, attempt.model ?? "", attempt.reason ?? "", (attempt.error ?? "").slice(0, 300));
  return words.filter(Boolean).join(", ");
}
