// How a breaker works: after how many failures it opens, when it tries again, when it forgets.
import { useId, useState } from "react";
import { api, call, type Schemas, useAct, useStats } from "../../api";
import { onlyIf, type Seen, seen, useEditing, useSeen } from "../../api/edits";
import { Checkbox, Columns, Conflict, Dialog, duration, Field, FormDialog, Loaded, wrong } from "../../ui";
import { shortDuration } from "../schedules/durations";

type Breaker = Schemas["Breaker"];

const look = (type: string) => () => seen(api.GET("/v1/breakers/{type}", { params: { path: { type } } }));

/** `type` "": one that is named in the form. */
export function BreakerDialog({ type, onClose }: { type: string; onClose: () => void }) {
  return type ? <Existing type={type} onClose={onClose} /> : <Form known={null} onClose={onClose} />;
}

function Existing({ type, onClose }: { type: string; onClose: () => void }) {
  const found = useSeen(["breaker", type], look(type));
  if (found.data) return <Form known={found.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Breaker of ${type}`}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

function Form({ known, onClose }: { known: Seen<Breaker> | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(known?.value));
  const types = Object.keys(useStats().data?.by_type ?? {}).sort();
  const names = useId();
  const type = draft.type.trim();
  const editing = useEditing(known, look(type));
  const save = useAct(
    () =>
      editing.send((version) =>
        call(
          api.PUT("/v1/breakers/{type}", {
            // A type that nobody set has a breaker all the same: what holds for every type.
            params: { path: { type }, ...(known ? onlyIf(version) : {}) },
            body: {
              failure_threshold: Number(draft.threshold),
              half_open_after_s: draft.halfOpen.trim(),
              cooldown_s: draft.cooldown.trim(),
              enabled: draft.enabled,
            },
          }),
        ),
      ),
    { quiet: true, done: `The breaker of ${type} is set.`, onDone: onClose },
  );
  const set = (name: keyof Draft) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value });
  const { theirs } = editing;
  return (
    <FormDialog
      title={known ? (type === "*" ? "Breaker of every type without its own" : `Breaker of ${type}`) : "Set a breaker"}
      about="A type that keeps failing is stopped, then tried with one task."
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!type}
      error={theirs ? null : save.error}
      fields={["type", "failure_threshold", "half_open_after_s", "cooldown_s"]}
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
        <>
          <Field
            label="Type"
            about="* stands for every type without its own"
            list={names}
            value={draft.type}
            onChange={set("type")}
            error={wrong(save.error, "type")}
          />
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
          value={draft.threshold}
          onChange={set("threshold")}
          error={wrong(save.error, "failure_threshold")}
        />
        <Field
          label="Tries again after"
          about="such as 60s or 2m"
          value={draft.halfOpen}
          onChange={set("halfOpen")}
          error={wrong(save.error, "half_open_after_s")}
        />
        <Field
          label="Forgets after"
          about="without a failure"
          value={draft.cooldown}
          onChange={set("cooldown")}
          error={wrong(save.error, "cooldown_s")}
        />
      </Columns>
      <Checkbox
        label="On: failures open it"
        checked={draft.enabled}
        onChange={(event) => setDraft({ ...draft, enabled: event.target.checked })}
      />
    </FormDialog>
  );
}

type Draft = { type: string; threshold: string; halfOpen: string; cooldown: string; enabled: boolean };

function draftOf(known: Breaker | undefined): Draft {
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
