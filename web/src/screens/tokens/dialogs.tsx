// A new token, or a new secret for one.
import { useState } from "react";
import { api, call, type Schemas, useAbout, useAct } from "../../api";
import { Columns, Field, FormDialog, Select, wrong } from "../../ui";

type Issued = Schemas["IssuedToken"];

const ROLES = [
  { value: "agent", label: "agent: works on tasks of its types" },
  { value: "viewer", label: "viewer: reads" },
  { value: "orchestrator", label: "orchestrator: adds, steers, answers" },
  { value: "admin", label: "admin: everything" },
];
const ENDS = [
  { value: "", label: "never" },
  { value: "1d", label: "in a day" },
  { value: "7d", label: "in 7 days" },
  { value: "30d", label: "in 30 days" },
  { value: "365d", label: "in a year" },
];
const EMPTY = {
  name: "",
  role: "agent",
  project: "",
  types: "",
  expires: "30d",
  max_depth: "",
  max_children: "",
  max_cost: "",
};

export function TokenDialog({ onClose, onIssued }: { onClose: () => void; onIssued: (token: Issued) => void }) {
  const [draft, setDraft] = useState(EMPTY);
  const home = useAbout().data?.project;
  const create = useAct(
    () => {
      const number = (text: string) => (text.trim() ? Number(text) : null);
      const types = draft.types
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
      const isAgent = draft.role === "agent";
      return call(
        api.POST("/v1/tokens", {
          body: {
            name: draft.name.trim(),
            role: draft.role,
            expires: draft.expires || null,
            ...(draft.project.trim() ? { project: draft.project.trim() } : {}),
            ...(isAgent
              ? {
                  types: types.length ? types : null,
                  max_depth: number(draft.max_depth),
                  max_children: number(draft.max_children),
                  max_cost: number(draft.max_cost),
                }
              : {}),
          },
        }),
      );
    },
    {
      quiet: true,
      changes: ["/v1/tokens", "/v1/audit"],
      onDone: (token) => {
        onClose();
        onIssued(token);
      },
    },
  );
  const set = (key: keyof typeof EMPTY) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [key]: event.target.value });
  const field = (key: keyof typeof EMPTY, label: string, about?: string) => (
    <Field label={label} about={about} value={draft[key]} onChange={set(key)} error={wrong(create.error, key)} />
  );
  return (
    <FormDialog
      title="Create a token"
      action="Create"
      onClose={onClose}
      onSubmit={() => create.mutate()}
      busy={create.isPending}
      disabled={!draft.name.trim()}
      error={create.error}
      fields={Object.keys(EMPTY)}
    >
      {field("name", "Name", "who it is for; what they do is written down under it")}
      <Select
        label="Role"
        value={draft.role}
        onChange={set("role")}
        choices={ROLES}
        error={wrong(create.error, "role")}
      />
      <Columns>
        <Select
          label="Ends"
          value={draft.expires}
          onChange={set("expires")}
          choices={ENDS}
          error={wrong(create.error, "expires")}
        />
        {home === "default" && field("project", "Project", "empty: default")}
      </Columns>
      {draft.role === "agent" && (
        <>
          {field("types", "Types", "it may claim only these, with commas between; empty: any")}
          <Columns>
            {field("max_depth", "Levels deep", "below a task it holds")}
            {field("max_children", "Children", "below one task")}
            {field("max_cost", "Cost (USD)", "of what it adds at once")}
          </Columns>
        </>
      )}
    </FormDialog>
  );
}

type RotateDialogProps = { token: Schemas["Token"]; onClose: () => void; onIssued: (token: Issued) => void };

export function RotateDialog({ token, onClose, onIssued }: RotateDialogProps) {
  const [grace, setGrace] = useState("1h");
  const rotate = useAct(
    () => call(api.POST("/v1/tokens/{token}/rotate", { params: { path: { token: token.id } }, body: { grace } })),
    {
      quiet: true,
      changes: ["/v1/tokens", "/v1/audit"],
      onDone: (issued) => {
        onClose();
        onIssued(issued);
      },
    },
  );
  return (
    <FormDialog
      title={`A new secret for ${token.name}`}
      about="The same rights under a new secret, which is shown once."
      action="Rotate"
      onClose={onClose}
      onSubmit={() => rotate.mutate()}
      busy={rotate.isPending}
      error={rotate.error}
      fields={["grace"]}
    >
      <Select
        label="The old one is good for another"
        value={grace}
        onChange={(event) => setGrace(event.target.value)}
        choices={[
          { value: "0s", label: "not at all: it ends now" },
          { value: "15m", label: "15 minutes" },
          { value: "1h", label: "hour" },
          { value: "1d", label: "day" },
          { value: "7d", label: "7 days" },
        ]}
        error={wrong(rotate.error, "grace")}
      />
    </FormDialog>
  );
}
