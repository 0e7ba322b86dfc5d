// A new hook: where, what kind, of which events.
import { useState } from "react";
import { api, call, useAct } from "../../api";
import { Columns, Field, FormDialog, Select, wrong } from "../../ui";
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
const EMPTY = {
  name: "",
  url: "",
  kind: "cloudevents",
  events: "",
  task: "",
  dag: "",
  agent: "",
  source: "",
  after: "",
};

export function HookDialog({ onClose, onMade }: { onClose: () => void; onMade: (hook: Hook) => void }) {
  const [draft, setDraft] = useState(EMPTY);
  const add = useAct(
    () => {
      const given = (text: string) => text.trim() || null;
      const events = draft.events
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
      return call(
        api.POST("/v1/hooks", {
          body: {
            name: draft.name.trim(),
            url: draft.url.trim(),
            kind: draft.kind,
            events: events.length ? events : null,
            task: given(draft.task),
            dag: given(draft.dag),
            agent: given(draft.agent),
            source: given(draft.source),
            after: draft.after.trim() ? Number(draft.after) : null,
          },
        }),
      );
    },
    {
      quiet: true,
      done: `The hook ${draft.name.trim()} is kept.`,
      onDone: (hook) => {
        onClose();
        onMade(hook);
      },
    },
  );
  const field = (key: keyof typeof EMPTY, label: string, about?: string, placeholder?: string) => (
    <Field
      label={label}
      about={about}
      placeholder={placeholder}
      value={draft[key]}
      onChange={(event) => setDraft({ ...draft, [key]: event.target.value })}
      error={wrong(add.error, key)}
    />
  );
  return (
    <FormDialog
      wide
      title="Add a hook"
      action="Add"
      onClose={onClose}
      onSubmit={() => add.mutate()}
      busy={add.isPending}
      disabled={!draft.name.trim() || !draft.url.trim()}
      error={add.error}
      fields={Object.keys(EMPTY)}
    >
      <Columns>
        {field("name", "Name")}
        <Select
          label="Kind"
          value={draft.kind}
          onChange={(event) => setDraft({ ...draft, kind: event.target.value })}
          choices={KINDS}
          error={wrong(add.error, "kind")}
        />
      </Columns>
      {field("url", "Address", undefined, PLACES[draft.kind])}
      {field(
        "events",
        "Events",
        draft.kind === "cloudevents"
          ? "empty: all; such as task.completed, dag.*, *:out_of_memory"
          : "empty: what needs a person",
      )}
      <Columns>
        {field("task", "Only of the task")}
        {field("dag", "Only of the dag")}
        {field("agent", "Only of the agent")}
      </Columns>
      <Columns>
        {field("source", "Source", "a name for this store in CloudEvents")}
        {field("after", "After event", "its number; empty: from now on")}
      </Columns>
    </FormDialog>
  );
}
