import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { api, call, keyOf, useAct, useGet, useMay } from "../../api";
import { Ago, Badge, Button, Count, Duration, duration, IconButton, Loaded, Menu, Text, useConfirm } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { bodyOf, draftOf, type Schedule } from "./draft";
import { Last } from "./Last";
import { Makes, Problem } from "./Makes";

const PATH = "/v1/schedules";

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
  const client = useQueryClient();
  const confirm = useConfirm();
  const may = useMay("POST /v1/schedules/{name}/pause");
  const { name } = schedule;
  const path = { params: { path: { name } } };
  const paused = schedule.paused ?? false;
  const turn = (on: boolean) =>
    on ? call(api.POST("/v1/schedules/{name}/pause", path)) : call(api.POST("/v1/schedules/{name}/resume", path));
  const turning = useAct(turn, {
    done: (_, on) => (on ? `${name} is paused.` : `${name} goes on with its next time.`),
    undo: (_, on) => turn(!on),
    changes: [PATH],
  });
  const remove = useAct(() => call(api.DELETE("/v1/schedules/{name}", path)), {
    done: `${name} was removed.`,
    undo: () => call(api.PUT("/v1/schedules/{name}", { ...path, body: bodyOf(draftOf(schedule), false) })),
    changes: [PATH],
  });
  if (!may) return null;
  return (
    <div className={styles.does}>
      <Button
        small
        aria-label={`${paused ? "Resume" : "Pause"} ${name}`}
        busy={turning.isPending}
        onClick={() => {
          client.setQueryData<Schedule[]>(keyOf(PATH), (known) =>
            known?.map((each) => (each.name === name ? { ...each, paused: !paused } : each)),
          );
          turning.mutate(!paused);
        }}
      >
        {paused ? "Resume" : "Pause"}
      </Button>
      <Menu
        trigger={<IconButton small label={`More about ${name}`} icon={<Ellipsis />} />}
        items={[
          { label: "Edit…", onSelect: onEdit },
          "line",
          {
            label: "Remove…",
            danger: true,
            onSelect: async () => {
              const sure = await confirm({
                title: `Remove the schedule ${name}?`,
                body: "What it made stays.",
                action: "Remove it",
                danger: true,
              });
              if (sure) remove.mutate();
            },
          },
        ]}
      />
    </div>
  );
}
