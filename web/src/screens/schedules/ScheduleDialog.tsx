// A schedule to be written. What somebody else changed meanwhile is shown, not overwritten.
import { useState } from "react";
import { api, call, useAct } from "../../api";
import { onlyIf, type Seen, seen, useEditing, useSeen } from "../../api/edits";
import { Checkbox, Columns, Conflict, Dialog, Field, FormDialog, Loaded, Select, TextArea, wrong } from "../../ui";
import { bodyOf, type Draft, draftOf, type Makes, SAMPLE, type Schedule, type When } from "./draft";
import { templateError } from "./template";

const look = (name: string) => () => seen(api.GET("/v1/schedules/{name}", { params: { path: { name } } }));
const FIELDS = ["name", "cron", "every", "at", "timezone", "missed", "max_missed", "overlap", "jitter"];

/** `name` "": a new one. */
export function ScheduleDialog({ name, onClose }: { name: string; onClose: () => void }) {
  return name ? <Existing name={name} onClose={onClose} /> : <Form known={null} onClose={onClose} />;
}

function Existing({ name, onClose }: { name: string; onClose: () => void }) {
  const found = useSeen(["schedule", name], look(name));
  if (found.data) return <Form known={found.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Schedule ${name}`}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

function Form({ known, onClose }: { known: Seen<Schedule> | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(known?.value ?? null));
  const name = draft.name.trim();
  const editing = useEditing(known, look(name));
  const save = useAct(
    async () => {
      const body = bodyOf(draft, known !== null);
      return editing.send((version) =>
        call(api.PUT("/v1/schedules/{name}", { params: { path: { name }, ...onlyIf(version) }, body })),
      );
    },
    { quiet: true, done: `The schedule ${name} is kept.`, onDone: onClose },
  );
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const set = (field: keyof Draft) => (event: { target: { value: string } }) => change({ [field]: event.target.value });
  const { theirs } = editing;
  const bad = templateError(draft.template);
  return (
    <FormDialog
      wide
      title={known ? `Schedule ${name}` : "Add a schedule"}
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!name || bad !== undefined}
      error={theirs ? null : save.error}
      fields={FIELDS}
    >
      {theirs && (
        <Conflict
          now={theirs.cron ?? (theirs.every != null ? `every ${theirs.every} s` : `at ${theirs.at}`)}
          onTake={() => {
            setDraft(draftOf(theirs));
            editing.taken();
          }}
        />
      )}
      <Columns>
        {!known && <Field label="Name" value={draft.name} onChange={set("name")} error={wrong(save.error, "name")} />}
        <Select
          label="When"
          value={draft.when}
          onChange={(event) => change({ when: event.target.value as When })}
          choices={[
            { value: "cron", label: "by the calendar (cron)" },
            { value: "every", label: "every so often" },
            { value: "at", label: "once" },
          ]}
        />
        {draft.when === "cron" && (
          <>
            <Field
              label="Cron"
              about="minute hour day month weekday"
              className="mono"
              value={draft.cron}
              onChange={set("cron")}
              error={wrong(save.error, "cron")}
            />
            <Field
              label="Time zone"
              value={draft.timezone}
              onChange={set("timezone")}
              error={wrong(save.error, "timezone")}
            />
          </>
        )}
        {draft.when === "every" && (
          <Field
            label="Every"
            about="such as 90s, 15m, 6h, 1d"
            value={draft.every}
            onChange={set("every")}
            error={wrong(save.error, "every")}
          />
        )}
        {draft.when === "at" && (
          <Field
            label="At"
            about="such as 2030-01-31T09:00:00+01:00, or 2h from now"
            value={draft.at}
            onChange={set("at")}
            error={wrong(save.error, "at")}
          />
        )}
      </Columns>
      <Select
        label="Makes"
        value={draft.makes}
        onChange={(event) => {
          const makes = event.target.value as Makes;
          const untouched = draft.template === SAMPLE[draft.makes];
          change({ makes, ...(untouched ? { template: SAMPLE[makes] } : {}) });
        }}
        choices={[
          { value: "task", label: "a task" },
          { value: "dag", label: "a dag" },
        ]}
      />
      <TextArea
        label="Template"
        about="JSON, as it is added otherwise. {{schedule.tick}} and {{schedule.name}} are filled in."
        mono
        rows={8}
        spellCheck={false}
        value={draft.template}
        onChange={set("template")}
        error={bad}
      />
      <Columns>
        <Select
          label="If nobody kept time"
          value={draft.missed}
          onChange={set("missed")}
          error={wrong(save.error, "missed")}
          choices={[
            { value: "one", label: "one for all that were missed" },
            { value: "skip", label: "none for those" },
            { value: "all", label: "one for each" },
          ]}
        />
        {draft.missed === "all" && (
          <Field
            label="At most"
            inputMode="numeric"
            value={draft.max_missed}
            onChange={set("max_missed")}
            error={wrong(save.error, "max_missed")}
          />
        )}
        <Select
          label="If the last one has not ended"
          value={draft.overlap}
          onChange={set("overlap")}
          error={wrong(save.error, "overlap")}
          choices={[
            { value: "allow", label: "make another" },
            { value: "skip", label: "make none" },
            { value: "cancel", label: "cancel that, make another" },
          ]}
        />
        <Field
          label="Later by up to"
          placeholder="0"
          about="so that not all begin at once"
          value={draft.jitter}
          onChange={set("jitter")}
          error={wrong(save.error, "jitter")}
        />
      </Columns>
      <Checkbox label="Paused" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
    </FormDialog>
  );
}
