// A hook: where, what kind, of which events. Its kind, its secret and how far it is stay when it is changed.
import { api, call } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import { Columns, Field, type Form, Select, SettingDialog } from "../../ui";
import type { Hook } from ".";

const KINDS = [
  { value: "cloudevents", label: "a program (signed CloudEvents)" },
  { value: "slack", label: "a chat (Slack, Mattermost …)" },
  { value: "email", label: "a mailbox" },
];
const PLACES: Record<string, string> = {
  cloudevents: "https://ci.example.com/dibs",
  slack: "https://hooks.slack.com/services/…",
  email: "mailto:oncall@example.com",
};

type Draft = Record<"name" | "url" | "kind" | "events" | "task" | "dag" | "agent" | "source" | "after", string>;

function draftOf(known: Hook | null): Draft {
  return {
    name: known?.name ?? "",
    url: known?.url ?? "",
    kind: known?.kind ?? "cloudevents",
    events: known?.events.join(", ") ?? "",
    task: known?.task ?? "",
    dag: known?.dag ?? "",
    agent: known?.agent ?? "",
    source: known?.source ?? "",
    after: "",
  };
}

const given = (text: string) => text.trim() || null;

function placeOf(draft: Draft) {
  const events = draft.events
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
  return {
    url: draft.url.trim(),
    events: events.length ? events : null,
    task: given(draft.task),
    dag: given(draft.dag),
    agent: given(draft.agent),
    source: given(draft.source),
  };
}

type HookDialogProps = { hook: Hook | null; onClose: () => void; onMade: (hook: Hook) => void };

/** `hook` null: a new one. `onMade` hears of it, with its secret. */
export function HookDialog({ hook, onClose, onMade }: HookDialogProps) {
  const put = (draft: Draft, version: string | null): Promise<Hook> => {
    const name = draft.name.trim();
    if (hook)
      return call(
        api.PUT("/v1/hooks/{name}", { params: { path: { name }, ...onlyIf(version) }, body: placeOf(draft) }),
      );
    const after = draft.after.trim() ? Number(draft.after) : null;
    return call(api.POST("/v1/hooks", { body: { name, kind: draft.kind, after, ...placeOf(draft) } }));
  };
  return (
    <SettingDialog<Hook, Draft>
      wide
      title={hook ? `Hook ${hook.name}` : "Add a hook"}
      about={hook ? "Its secret stays. What was not delivered goes to the new place, at once." : undefined}
      look={hook && (() => seen(api.GET("/v1/hooks/{name}", { params: { path: { name: hook.name } } })))}
      draftOf={draftOf}
      isWhole={(draft) => draft.name.trim() !== "" && draft.url.trim() !== ""}
      put={put}
      done={(draft) => `The hook ${draft.name.trim()} is kept.`}
      onDone={(kept) => !hook && onMade(kept)}
      onClose={onClose}
      terms={(theirs) => `${theirs.url}, ${theirs.events.join(", ")}`}
      fields={Object.keys(draftOf(null))}
    >
      {(form) => <Fields form={form} isNew={hook === null} />}
    </SettingDialog>
  );
}

function Fields({ form, isNew }: { form: Form<Draft>; isNew: boolean }) {
  const { kind } = form.draft;
  return (
    <>
      {isNew && (
        <Columns>
          <Field label="Name" {...form.text("name")} />
          <Select label="Kind" {...form.text("kind")} choices={KINDS} />
        </Columns>
      )}
      <Field label="Address" placeholder={PLACES[kind]} {...form.text("url")} />
      <Field
        label="Events"
        about={
          kind === "cloudevents"
            ? "empty: all; such as task.completed, dag.*, *:out_of_memory"
            : "empty: what needs a person"
        }
        {...form.text("events")}
      />
      <Columns>
        <Field label="Only of the task" {...form.text("task")} />
        <Field label="Only of the dag" {...form.text("dag")} />
        <Field label="Only of the agent" {...form.text("agent")} />
      </Columns>
      <Columns>
        <Field label="Source" about="a name for this store in CloudEvents" {...form.text("source")} />
        {isNew && <Field label="After event" about="its number; empty: from now on" {...form.text("after")} />}
      </Columns>
    </>
  );
}
