// A budget to be set.
import { api, call } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import { Columns, Field, type Form, Select, SettingDialog } from "../../ui";
import { type Budget, terms } from "./amounts";

const KINDS = ["global", "type", "user", "dag", "agent"];
const UNITS = ["usd", "tokens", "turns", "seconds"];
const FIELDS = ["scope", "unit", "limit", "default_reserve", "window", "timezone"];

const look = (scope: string, unit: string) => () =>
  seen(api.GET("/v1/budgets/{scope}", { params: { path: { scope }, query: { unit } } }));

export function BudgetDialog({ known, onClose }: { known: Budget | null; onClose: () => void }) {
  return (
    <SettingDialog<Budget, Draft>
      title={known ? `Budget of ${known.scope}` : "Add a budget"}
      about="What runs already is counted. Below what is used it only stops new attempts."
      look={known && look(known.scope, known.unit ?? "usd")}
      draftOf={draftOf}
      isWhole={isWhole}
      put={put}
      done={(draft) => `The budget of ${scopeOf(draft)} is set.`}
      onClose={onClose}
      terms={terms}
      fields={FIELDS}
    >
      {(form) => <Fields form={form} isNew={known === null} />}
    </SettingDialog>
  );
}

function scopeOf(draft: Draft): string {
  return draft.kind === "global" ? "global" : `${draft.kind}:${draft.name.trim()}`;
}

function isWhole(draft: Draft): boolean {
  const isAmount = draft.limit.trim() !== "" && Number(draft.limit) >= 0 && Number(draft.reserve || 0) >= 0;
  return isAmount && (draft.kind === "global" || draft.name.trim() !== "");
}

function put(draft: Draft, version: string | null): Promise<Budget> {
  return call(
    api.PUT("/v1/budgets/{scope}", {
      params: { path: { scope: scopeOf(draft) }, ...onlyIf(version) },
      body: {
        limit: Number(draft.limit),
        unit: draft.unit,
        default_reserve: Number(draft.reserve || 0),
        window: draft.window || null,
        timezone: draft.window && draft.timezone.trim() ? draft.timezone.trim() : null,
      },
    }),
  );
}

function Fields({ form, isNew }: { form: Form<Draft>; isNew: boolean }) {
  const { draft } = form;
  return (
    <>
      {isNew && (
        <Columns>
          <Select
            label="Of"
            {...form.text("kind")}
            choices={KINDS.map((kind) => ({ value: kind, label: kind === "global" ? "everything" : `one ${kind}` }))}
          />
          {draft.kind !== "global" && <Field label={`Name of the ${draft.kind}`} {...form.text("name", "scope")} />}
          <Select label="Unit" {...form.text("unit")} choices={UNITS.map((unit) => ({ value: unit, label: unit }))} />
        </Columns>
      )}
      <Columns>
        <Field label={`Limit (${draft.unit})`} inputMode="decimal" {...form.text("limit")} />
        <Field
          label="Reserve"
          about="for a task that names no limit of its own"
          inputMode="decimal"
          placeholder="0"
          {...form.text("reserve", "default_reserve")}
        />
      </Columns>
      <Columns>
        <Select
          label="For"
          {...form.text("window")}
          choices={[
            { value: "", label: "all time" },
            { value: "day", label: "each day" },
          ]}
        />
        {draft.window && <Field label="Time zone" placeholder="UTC" {...form.text("timezone")} />}
      </Columns>
    </>
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

function draftOf(known: Budget | null): Draft {
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
