// A budget to be set. What somebody else changed meanwhile is shown, not overwritten.
import { useState } from "react";
import { api, call, useAct } from "../../api";
import { onlyIf, type Seen, seen, useEditing, useSeen } from "../../api/edits";
import { Columns, Conflict, Dialog, Field, FormDialog, Loaded, Select, wrong } from "../../ui";
import { type Budget, terms } from "./amounts";

const KINDS = ["global", "type", "user", "dag", "agent"];
const UNITS = ["usd", "tokens", "turns", "seconds"];
const FIELDS = ["scope", "unit", "limit", "default_reserve", "window", "timezone"];

const look = (scope: string, unit: string) => () =>
  seen(api.GET("/v1/budgets/{scope}", { params: { path: { scope }, query: { unit } } }));

export function BudgetDialog({ known, onClose }: { known: Budget | null; onClose: () => void }) {
  return known ? (
    <Existing scope={known.scope} unit={known.unit ?? "usd"} onClose={onClose} />
  ) : (
    <Form known={null} onClose={onClose} />
  );
}

function Existing({ scope, unit, onClose }: { scope: string; unit: string; onClose: () => void }) {
  const found = useSeen([scope, unit], look(scope, unit));
  if (found.data) return <Form known={found.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Budget of ${scope}`}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

function Form({ known, onClose }: { known: Seen<Budget> | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(known?.value));
  const scope = draft.kind === "global" ? "global" : `${draft.kind}:${draft.name.trim()}`;
  const editing = useEditing(known, look(scope, draft.unit));
  const save = useAct(
    () =>
      editing.send((version) =>
        call(
          api.PUT("/v1/budgets/{scope}", {
            params: { path: { scope }, ...onlyIf(version) },
            body: {
              limit: Number(draft.limit),
              unit: draft.unit,
              default_reserve: Number(draft.reserve || 0),
              window: draft.window || null,
              timezone: draft.window && draft.timezone.trim() ? draft.timezone.trim() : null,
            },
          }),
        ),
      ),
    { quiet: true, done: `The budget of ${scope} is set.`, onDone: onClose },
  );
  const set = (name: keyof Draft) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value });
  const { theirs } = editing;
  const isWhole = draft.limit.trim() !== "" && Number(draft.limit) >= 0 && Number(draft.reserve || 0) >= 0;
  return (
    <FormDialog
      title={known ? `Budget of ${scope}` : "Add a budget"}
      about="What runs already is counted. Below what is used it only stops new attempts."
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!isWhole || (draft.kind !== "global" && !draft.name.trim())}
      error={theirs ? null : save.error}
      fields={FIELDS}
    >
      {theirs && (
        <Conflict
          now={terms(theirs)}
          onTake={() => {
            setDraft(draftOf(theirs));
            editing.taken();
          }}
        />
      )}
      {!known && (
        <Columns>
          <Select
            label="Of"
            value={draft.kind}
            onChange={set("kind")}
            choices={KINDS.map((kind) => ({ value: kind, label: kind === "global" ? "everything" : `one ${kind}` }))}
          />
          {draft.kind !== "global" && (
            <Field
              label={`Name of the ${draft.kind}`}
              value={draft.name}
              onChange={set("name")}
              error={wrong(save.error, "scope")}
            />
          )}
          <Select
            label="Unit"
            value={draft.unit}
            onChange={set("unit")}
            choices={UNITS.map((unit) => ({ value: unit, label: unit }))}
            error={wrong(save.error, "unit")}
          />
        </Columns>
      )}
      <Columns>
        <Field
          label={`Limit (${draft.unit})`}
          inputMode="decimal"
          value={draft.limit}
          onChange={set("limit")}
          error={wrong(save.error, "limit")}
        />
        <Field
          label="Reserve"
          about="for a task that names no limit of its own"
          inputMode="decimal"
          placeholder="0"
          value={draft.reserve}
          onChange={set("reserve")}
          error={wrong(save.error, "default_reserve")}
        />
      </Columns>
      <Columns>
        <Select
          label="For"
          value={draft.window}
          onChange={set("window")}
          error={wrong(save.error, "window")}
          choices={[
            { value: "", label: "all time" },
            { value: "day", label: "each day" },
          ]}
        />
        {draft.window && (
          <Field
            label="Time zone"
            placeholder="UTC"
            value={draft.timezone}
            onChange={set("timezone")}
            error={wrong(save.error, "timezone")}
          />
        )}
      </Columns>
    </FormDialog>
  );
}

type Draft = {
  kind: string;
  name: string;
  unit: string;
  limit: string;
  reserve: string;
  window: string;
  timezone: string;
};

function draftOf(known: Budget | undefined): Draft {
  const scope = known?.scope ?? "global";
  const at = scope.indexOf(":");
  return {
    kind: at < 0 ? scope : scope.slice(0, at),
    name: at < 0 ? "" : scope.slice(at + 1),
    unit: known?.unit ?? "usd",
    limit: known ? String(known.limit ?? 0) : "",
    reserve: known?.default_reserve ? String(known.default_reserve) : "",
    window: known?.window ?? "",
    timezone: known?.timezone ?? "",
  };
}
