// How a breaker works: after how many failures it opens, when it tries again, when it forgets.
import { useId } from "react";
import { api, call, type Schemas, useStats } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import { Checkbox, Columns, duration, Field, type Form, SettingDialog } from "../../ui";
import { shortDuration } from "../schedules/durations";

type Breaker = Schemas["Breaker"];
type Draft = { type: string; threshold: string; halfOpen: string; cooldown: string; enabled: boolean };

/** `type` "": one that is named in the form. */
export function BreakerDialog({ type, onClose }: { type: string; onClose: () => void }) {
  const put = (draft: Draft, version: string | null) =>
    call(
      api.PUT("/v1/breakers/{type}", {
        // A type that nobody set has a breaker all the same: what holds for every type.
        params: { path: { type: draft.type.trim() }, ...(type ? onlyIf(version) : {}) },
        body: {
          failure_threshold: Number(draft.threshold),
          half_open_after_s: draft.halfOpen.trim(),
          cooldown_s: draft.cooldown.trim(),
          enabled: draft.enabled,
        },
      }),
    );
  const named = type === "*" ? "Breaker of every type without its own" : `Breaker of ${type}`;
  return (
    <SettingDialog<Breaker, Draft>
      title={type ? named : "Set a breaker"}
      about="A type that keeps failing is stopped, then tried with one task."
      look={type ? () => seen(api.GET("/v1/breakers/{type}", { params: { path: { type } } })) : null}
      draftOf={draftOf}
      isWhole={(draft) => draft.type.trim() !== ""}
      put={put}
      done={(draft) => `The breaker of ${draft.type.trim()} is set.`}
      onClose={onClose}
      terms={terms}
      fields={["type", "failure_threshold", "half_open_after_s", "cooldown_s"]}
    >
      {(form) => <Fields form={form} isNew={!type} />}
    </SettingDialog>
  );
}

function Fields({ form, isNew }: { form: Form<Draft>; isNew: boolean }) {
  const types = Object.keys(useStats().data?.by_type ?? {}).sort();
  const names = useId();
  return (
    <>
      {isNew && (
        <>
          <Field label="Type" about="* stands for every type without its own" list={names} {...form.text("type")} />
          <datalist id={names}>
            {types.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
      <Columns>
        <Field
          label="Opens after"
          about="failures in a row"
          inputMode="numeric"
          {...form.text("threshold", "failure_threshold")}
        />
        <Field label="Tries again after" about="such as 60s or 2m" {...form.text("halfOpen", "half_open_after_s")} />
        <Field label="Forgets after" about="without a failure" {...form.text("cooldown", "cooldown_s")} />
      </Columns>
      <Checkbox
        label="On: failures open it"
        checked={form.draft.enabled}
        onChange={(event) => form.change({ enabled: event.target.checked })}
      />
    </>
  );
}

function draftOf(known: Breaker | null): Draft {
  return {
    type: known?.type ?? "",
    threshold: String(known?.failure_threshold ?? 5),
    halfOpen: shortDuration(known?.half_open_after_s ?? 60),
    cooldown: shortDuration(known?.cooldown_s ?? 300),
    enabled: known?.enabled || !known,
  };
}

function terms(breaker: Breaker): string {
  const parts = [
    breaker.enabled ? "on" : "off",
    `after ${breaker.failure_threshold} failures`,
    `tries again after ${duration(breaker.half_open_after_s ?? 0)}`,
    `forgets after ${duration(breaker.cooldown_s ?? 0)}`,
  ];
  return parts.join(", ");
}
