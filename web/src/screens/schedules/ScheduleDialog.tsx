// A schedule to be written.
import { api, call } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import { Checkbox, Columns, Field, type Form, JsonField, Select, SettingDialog } from "../../ui";
import { bodyOf, type Draft, draftOf, MADE, type Makes, SAMPLE, type Schedule, type When } from "./draft";
import { templateError } from "./template";

const FIELDS = ["name", "cron", "every", "at", "timezone", "missed", "max_missed", "overlap", "jitter"];

/** `name` "": a new one. */
export function ScheduleDialog({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <SettingDialog<Schedule, Draft>
      wide
      title={name ? `Schedule ${name}` : "Add a schedule"}
      look={name ? () => seen(api.GET("/v1/schedules/{name}", { params: { path: { name } } })) : null}
      draftOf={draftOf}
      isWhole={(draft) => draft.name.trim() !== "" && templateError(draft.template) === undefined}
      put={async (draft, version) =>
        call(
          api.PUT("/v1/schedules/{name}", {
            params: { path: { name: draft.name.trim() }, ...onlyIf(version) },
            body: bodyOf(draft, name !== ""),
          }),
        )
      }
      done={(draft) => `The schedule ${draft.name.trim()} is kept.`}
      onClose={onClose}
      terms={(theirs) => theirs.cron ?? (theirs.every != null ? `every ${theirs.every} s` : `at ${theirs.at}`)}
      fields={FIELDS}
    >
      {(form) => <Fields form={form} isNew={!name} />}
    </SettingDialog>
  );
}

function Fields({ form, isNew }: { form: Form<Draft>; isNew: boolean }) {
  const { draft, change } = form;
  return (
    <>
      <Columns>
        {isNew && <Field label="Name" {...form.text("name")} />}
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
            <Field label="Cron" about="minute hour day month weekday" className="mono" {...form.text("cron")} />
            <Field label="Time zone" {...form.text("timezone")} />
          </>
        )}
        {draft.when === "every" && <Field label="Every" about="such as 90s, 15m, 6h, 1d" {...form.text("every")} />}
        {draft.when === "at" && (
          <Field label="At" about="such as 2030-01-31T09:00:00+01:00, or 2h from now" {...form.text("at")} />
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
        choices={MADE}
      />
      <JsonField
        label="Template"
        about="JSON, as it is added otherwise. {{schedule.tick}} and {{schedule.name}} are filled in."
        value={draft.template}
        onChange={(template) => change({ template })}
        error={templateError(draft.template)}
      />
      <Columns>
        <Select
          label="If nobody kept time"
          {...form.text("missed")}
          choices={[
            { value: "one", label: "one for all that were missed" },
            { value: "skip", label: "none for those" },
            { value: "all", label: "one for each" },
          ]}
        />
        {draft.missed === "all" && <Field label="At most" inputMode="numeric" {...form.text("max_missed")} />}
        <Select
          label="If the last one has not ended"
          {...form.text("overlap")}
          choices={[
            { value: "allow", label: "make another" },
            { value: "skip", label: "make none" },
            { value: "cancel", label: "cancel that, make another" },
          ]}
        />
        <Field label="Later by up to" placeholder="0" about="so that not all begin at once" {...form.text("jitter")} />
      </Columns>
      <Checkbox label="Paused" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
    </>
  );
}
