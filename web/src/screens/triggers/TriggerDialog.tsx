// A trigger to be written. What somebody else changed meanwhile is shown, not overwritten.
import { useState } from "react";
import { api, call, useAbout, useAct } from "../../api";
import { onlyIf, type Seen, seen, useEditing, useSeen } from "../../api/edits";
import {
  Checkbox,
  Columns,
  Conflict,
  CopyButton,
  Dialog,
  Field,
  FormDialog,
  Loaded,
  Select,
  TextArea,
  wrong,
} from "../../ui";
import styles from "../../ui/Rows.module.css";
import { templateError } from "../schedules/template";
import { bodyOf, type Draft, draftOf, type On, sampleFor, type Trigger } from "./draft";

const look = (name: string) => () => seen(api.GET("/v1/triggers/{name}", { params: { path: { name } } }));
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
export function TriggerDialog({ name, ...rest }: TriggerDialogProps) {
  return name ? <Existing name={name} {...rest} /> : <Form known={null} {...rest} />;
}

function Existing({ name, ...rest }: TriggerDialogProps) {
  const found = useSeen(["trigger", name], look(name));
  if (found.data) return <Form known={found.data} {...rest} />;
  return (
    <Dialog open onClose={rest.onClose} title={`Trigger ${name}`}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

type FormProps = { known: Seen<Trigger> | null; onClose: () => void; onMade: (trigger: Trigger) => void };

function Form({ known, onClose, onMade }: FormProps) {
  const [draft, setDraft] = useState(() => draftOf(known?.value ?? null));
  const name = draft.name.trim();
  const editing = useEditing(known, look(name));
  const save = useAct(
    async () => {
      const body = bodyOf(draft, known !== null);
      return editing.send((version) =>
        call(api.PUT("/v1/triggers/{name}", { params: { path: { name }, ...onlyIf(version) }, body })),
      );
    },
    {
      quiet: true,
      done: `The trigger ${name} is kept.`,
      onDone: (made) => {
        onClose();
        if (!known) onMade(made);
      },
    },
  );
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const set = (field: keyof Draft) => (event: { target: { value: string } }) => change({ [field]: event.target.value });
  const field = (key: keyof Draft, label: string, about?: string) => (
    <Field label={label} about={about} value={String(draft[key])} onChange={set(key)} error={wrong(save.error, key)} />
  );
  const { theirs } = editing;
  const bad = templateError(draft.template);
  const badWhere = draft.where.trim() ? templateError(draft.where) : undefined;
  return (
    <FormDialog
      wide
      title={known ? `Trigger ${name}` : "Add a trigger"}
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!name || bad !== undefined || badWhere !== undefined}
      error={theirs ? null : save.error}
      fields={FIELDS}
    >
      {theirs && (
        <Conflict
          now={`on ${theirs.on}, at most ${theirs.rate}${theirs.paused ? ", paused" : ""}`}
          onTake={() => {
            setDraft(draftOf(theirs));
            editing.taken();
          }}
        />
      )}
      <Columns>
        {!known && field("name", "Name")}
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
              value={draft.scheme}
              onChange={set("scheme")}
              error={wrong(save.error, "scheme")}
              choices={[
                { value: "github", label: "GitHub" },
                { value: "slack", label: "Slack" },
                { value: "standard", label: "Standard Webhooks" },
              ]}
            />
            {field("secret", "Secret", known ? "empty: stays as it is" : "empty: one is drawn, and shown once")}
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
        <TextArea
          label="Paths"
          about="one a line, absolute, with *, ? and **"
          mono
          rows={2}
          value={draft.paths}
          onChange={set("paths")}
          error={wrong(save.error, "paths")}
        />
      )}
      <TextArea
        label="Only where"
        about={'Paths and the values they must have, such as {"event.task.type": "code"}. Empty: always.'}
        mono
        rows={2}
        spellCheck={false}
        value={draft.where}
        onChange={set("where")}
        error={badWhere ?? wrong(save.error, "where")}
      />
      <Select
        label="Makes"
        value={draft.makes}
        onChange={set("makes")}
        choices={[
          { value: "task", label: "a task" },
          { value: "dag", label: "a dag" },
        ]}
      />
      <TextArea
        label="Template"
        about="JSON, as it is added otherwise. {{event.data.number}} and the like are filled in."
        mono
        rows={7}
        spellCheck={false}
        value={draft.template}
        onChange={set("template")}
        error={bad}
      />
      <Columns>
        {field("rate", "At most", "such as 60/min; the rest is dropped")}
        {field("max_depth", "Triggers in a row", "so many at most: no loops")}
      </Columns>
      <Checkbox label="Paused" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
    </FormDialog>
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
