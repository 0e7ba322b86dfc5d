// What a trigger would make for an event; nothing is made.
import { useState } from "react";
import { api, call, parseExact, stringifyExact, useAct } from "../../api";
import { FormDialog, Json, JsonField, Notice } from "../../ui";
import { templateError } from "../schedules/template";
import type { On, Trigger } from "./draft";

const EVENTS: Record<On, (trigger: Trigger) => unknown> = {
  event: (trigger) => ({
    type: (trigger.events?.[0] ?? "task.completed").replace("*", "completed"),
    task: { id: "task_example", type: "code", title: "An example", status: "dead_lettered" },
  }),
  webhook: () => ({ type: "pull_request", data: { action: "opened", number: 7 } }),
  friction: (trigger) => ({
    type: "friction",
    data: { type: trigger.type, failure_rate: 0.5, completed: 10, failed: 10 },
  }),
  files: (trigger) => ({
    type: "file.modified",
    data: { path: trigger.paths?.[0] ?? "/srv/a.md", change: "modified" },
  }),
};

export function TestDialog({ trigger, onClose }: { trigger: Trigger; onClose: () => void }) {
  const { name } = trigger;
  const [event, setEvent] = useState(() => stringifyExact(EVENTS[trigger.on as On]?.(trigger) ?? {}, 2));
  const bad = templateError(event);
  const test = useAct(
    () =>
      call(
        api.POST("/v1/triggers/{name}/test", {
          params: { path: { name } },
          body: { event: parseExact(event) as Record<string, never> },
        }),
      ),
    { quiet: true, changes: [] },
  );
  const found = test.data;
  return (
    <FormDialog
      wide
      title={`Test ${name}`}
      about="What it would make for an event. Nothing is made."
      action="Try it"
      onClose={onClose}
      onSubmit={() => test.mutate()}
      busy={test.isPending}
      disabled={bad !== undefined}
      error={test.error}
    >
      <JsonField label="Event" value={event} onChange={setEvent} error={bad} autoFocus />
      {found && (
        <>
          <Notice tone={found.fits ? "green" : "amber"}>
            {found.fits ? "It fits. This would be made:" : "It does not fit: nothing would be made. If it did:"}
          </Notice>
          <Json value={found.dag ?? found.task} label="what would be made" open={4} />
        </>
      )}
    </FormDialog>
  );
}
