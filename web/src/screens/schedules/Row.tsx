import { useState } from "react";
import { api, call, useGet, useMay } from "../../api";
import { Ago, Badge, Count, Duration, duration, Loaded, RowActions, Text } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { bodyOf, draftOf, type Schedule } from "./draft";
import { Last } from "./Last";
import { Makes, Problem } from "./Makes";

export function Row({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const [coming, setComing] = useState(false);
  const { name } = schedule;
  return (
    <li className={styles.row} data-schedule={name}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{name}</strong>
          {schedule.paused && <Badge tone="amber">paused</Badge>}
          {schedule.error && <Badge tone="red">failed</Badge>}
          <span className="mono">
            <Text>{when(schedule)}</Text>
          </span>
        </div>
        <div className={styles.facts}>
          {!schedule.paused && (
            <span>
              {schedule.next_at ? (
                <>
                  next <Ago at={schedule.next_at} />
                </>
              ) : (
                "no time is left"
              )}
            </span>
          )}
          <Last of={schedule} />
          {(schedule.skipped ?? 0) > 0 && (
            <span>
              <Count value={schedule.skipped} /> skipped
            </span>
          )}
          {schedule.missed !== "one" && <span>missed: {schedule.missed}</span>}
          {schedule.overlap !== "allow" && <span>overlap: {schedule.overlap}</span>}
          {!!schedule.jitter && (
            <span>
              up to <Duration seconds={schedule.jitter} /> late
            </span>
          )}
          <Problem>{schedule.error}</Problem>
        </div>
        <div className={styles.facts}>
          <button type="button" className={styles.quiet} aria-expanded={coming} onClick={() => setComing(!coming)}>
            next runs
          </button>
          <Makes of={schedule} />
        </div>
        {coming && <Coming name={name} />}
      </div>
      <Changing schedule={schedule} onEdit={onEdit} />
    </li>
  );
}

/** When, in the words it was written in. */
function when(schedule: Schedule): string {
  if (schedule.cron) return `${schedule.cron}  ${schedule.timezone ?? "UTC"}`;
  if (schedule.every != null) return `every ${duration(schedule.every)}`;
  return `once, ${(schedule.at ?? "").replace(/\.\d+/, "")}`;
}

function Coming({ name }: { name: string }) {
  const runs = useGet("/v1/schedules/{name}/next", { params: { path: { name }, query: { count: 5 } } });
  return (
    <Loaded of={runs} lines={1}>
      {(all) => (
        <ol className={styles.times} aria-label={`Next runs of ${name}`}>
          {all.length === 0 && <li>There is none.</li>}
          {all.map((run) => (
            <li key={run.tick}>
              <span className="mono">{run.local}</span>{" "}
              <span className="muted">
                <Ago at={run.due_at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

function Changing({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const may = useMay("POST /v1/schedules/{name}/pause");
  const { name } = schedule;
  const path = { params: { path: { name } } };
  if (!may) return null;
  return (
    <RowActions
      list="/v1/schedules"
      kind="schedule"
      name={name}
      paused={schedule.paused ?? false}
      turn={(on) =>
        on ? call(api.POST("/v1/schedules/{name}/pause", path)) : call(api.POST("/v1/schedules/{name}/resume", path))
      }
      shown={(paused) => ({ paused })}
      told={{ paused: `${name} is paused.`, resumed: `${name} goes on with its next time.` }}
      remove={() => call(api.DELETE("/v1/schedules/{name}", path))}
      removed="What it made stays."
      restore={() => call(api.PUT("/v1/schedules/{name}", { ...path, body: bodyOf(draftOf(schedule), false) }))}
      items={[{ label: "Edit…", onSelect: onEdit }]}
    />
  );
}
