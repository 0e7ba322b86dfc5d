// A trigger to be written.
import { api, call, useAbout } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import { Checkbox, Columns, CopyButton, Field, type Form, JsonField, Select, SettingDialog, TextArea } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { MADE } from "../schedules/draft";
import { templateError } from "../schedules/template";
import { bodyOf, type Draft, draftOf, type On, sampleFor, type Trigger } from "./draft";

const HAPPENS = [
  { value: "event", label: "an event of a task or dag" },
  { value: "webhook", label: "a webhook comes in" },
  { value: "friction", label: "a type fails or costs too much" },
  { value: "files", label: "a file changes" },
];
const FIELDS = [
  ...["name", "events", "scheme", "secret", "type", "failure_rate", "cost", "window", "least", "cool_down"],
  ...["paths", "rate", "max_depth", "where"],
];

type TriggerDialogProps = { name: string; onClose: () => void; onMade: (trigger: Trigger) => void };

/** `name` "": a new one. `onMade` hears of a new one, with its secrets. */
export function TriggerDialog({ name, onClose, onMade }: TriggerDialogProps) {
  return (
    <SettingDialog<Trigger, Draft>
      wide
      title={name ? `Trigger ${name}` : "Add a trigger"}
      look={name ? () => seen(api.GET("/v1/triggers/{name}", { params: { path: { name } } })) : null}
      draftOf={draftOf}
      isWhole={isWhole}
      put={async (draft, version) =>
        call(
          api.PUT("/v1/triggers/{name}", {
            params: { path: { name: draft.name.trim() }, ...onlyIf(version) },
            body: bodyOf(draft, name !== ""),
          }),
        )
      }
      done={(draft) => `The trigger ${draft.name.trim()} is kept.`}
      onDone={(made) => !name && onMade(made)}
      onClose={onClose}
      terms={(theirs) => `on ${theirs.on}, at most ${theirs.rate}${theirs.paused ? ", paused" : ""}`}
      fields={FIELDS}
    >
      {(form) => <Fields form={form} isNew={!name} />}
    </SettingDialog>
  );
}

/** What is wrong with the condition, as text; there may be none. */
const whereError = (where: string) => (where.trim() ? templateError(where) : undefined);

function isWhole(draft: Draft): boolean {
  return draft.name.trim() !== "" && !templateError(draft.template) && !whereError(draft.where);
}

function Fields({ form, isNew }: { form: Form<Draft>; isNew: boolean }) {
  const { draft, change } = form;
  const field = (key: keyof Draft, label: string, about?: string) => (
    <Field label={label} about={about} {...form.text(key)} />
  );
  return (
    <>
      <Columns>
        {isNew && field("name", "Name")}
        <Select
          label="When"
          value={draft.on}
          onChange={(event) => {
            const on = event.target.value as On;
            change({ on, ...(draft.template === sampleFor(draft.on) ? { template: sampleFor(on) } : {}) });
          }}
          choices={HAPPENS}
        />
        {draft.on === "event" && field("events", "Events", "such as task.dead_lettered, dag.*")}
        {draft.on === "webhook" && (
          <>
            <Select
              label="Signed as"
              {...form.text("scheme")}
              choices={[
                { value: "github", label: "GitHub" },
                { value: "slack", label: "Slack" },
                { value: "standard", label: "Standard Webhooks" },
              ]}
            />
            {field("secret", "Secret", isNew ? "empty: one is drawn, and shown once" : "empty: stays as it is")}
          </>
        )}
      </Columns>
      {draft.on === "friction" && (
        <Columns>
          {field("type", "Type")}
          {field("failure_rate", "Failure rate", "such as 0.4")}
          {field("cost", "or cost (USD)")}
          {field("window", "Within", "a day, unless you say")}
          {field("least", "Of at least", "10 ended claims, unless you say")}
          {field("cool_down", "Then quiet for", "as long as the window")}
        </Columns>
      )}
      {draft.on === "files" && (
        <TextArea label="Paths" about="one a line, absolute, with *, ? and **" mono rows={2} {...form.text("paths")} />
      )}
      <JsonField
        label="Only where"
        about={'Paths and the values they must have, such as {"event.task.type": "code"}. Empty: always.'}
        small
        value={draft.where}
        onChange={(where) => change({ where })}
        error={whereError(draft.where) ?? form.wrong("where")}
      />
      <Select label="Makes" {...form.text("makes")} choices={MADE} />
      <JsonField
        label="Template"
        about="JSON, as it is added otherwise. {{event.data.number}} and the like are filled in."
        value={draft.template}
        onChange={(template) => change({ template })}
        error={templateError(draft.template)}
      />
      <Columns>
        {field("rate", "At most", "such as 60/min; the rest is dropped")}
        {field("max_depth", "Triggers in a row", "so many at most: no loops")}
      </Columns>
      <Checkbox label="Paused" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
    </>
  );
}

/** Where the sender of a webhook sends it. */
export function Address({ name }: { name: string }) {
  const project = useAbout().data?.project ?? "default";
  const path = ["in", ...(project === "default" ? [] : [project]), name].map(encodeURIComponent).join("/");
  const url = `${window.location.origin}/${path}`;
  return (
    <div className={styles.line}>
      <span className="mono">{url}</span>
      <CopyButton text={url} label="Copy the address" />
    </div>
  );
}
