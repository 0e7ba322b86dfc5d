// Pausing: of what nothing more is handed out, why, and for how long.
import { useId, useState } from "react";
import { api, call, type Schemas, useAct, useAgents, useLanes, useStats } from "../../api";
import { useMyself } from "../../api/myself";
import { Columns, Field, FormDialog, Select, wrong } from "../../ui";

export type Pausable = "type" | "lane" | "agent" | "everything";

const LENGTHS = [
  { value: "", label: "until somebody resumes it" },
  { value: "15m", label: "15 minutes" },
  { value: "1h", label: "an hour" },
  { value: "4h", label: "4 hours" },
  { value: "1d", label: "a day" },
];

type PauseDialogProps = { onClose: () => void; what?: Pausable; target?: string };

export function PauseDialog({ onClose, what: first = "type", target: known = "" }: PauseDialogProps) {
  const [what, setWhat] = useState<Pausable>(first);
  const [target, setTarget] = useState(known);
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const names = useId();
  const by = useMyself();
  const types = Object.keys(useStats().data?.by_type ?? {}).sort();
  const agents = (useAgents().data ?? []).filter((each) => each.status !== "offline").map((each) => each.id);
  const lanes = useLanes().data ?? [];
  const scope = scopeOf(what, target);
  const pause = useAct(
    () =>
      call(
        api.POST("/v1/pauses", {
          body: {
            ...scope,
            ...(reason.trim() ? { reason: reason.trim() } : {}),
            ...(until ? { until } : {}),
            by,
          },
        }),
      ),
    {
      quiet: true,
      done: what === "everything" ? "Everything is paused." : `Paused: ${what} ${target}.`,
      undo: () => call(api.POST("/v1/pauses/resume", { body: scope })),
      onDone: onClose,
    },
  );
  return (
    <FormDialog
      title="Pause"
      about="Nothing more is handed out. What is being worked on goes on."
      action={what === "everything" ? "Pause everything" : "Pause"}
      onClose={onClose}
      onSubmit={() => pause.mutate()}
      busy={pause.isPending}
      disabled={what !== "everything" && target.trim() === ""}
      error={pause.error}
      fields={["type", "lane", "agent", "reason", "until"]}
    >
      <Columns>
        <Select
          label="What"
          value={what}
          onChange={(event) => {
            setWhat(event.target.value as Pausable);
            setTarget("");
          }}
          choices={[
            { value: "type", label: "a type" },
            { value: "lane", label: "a lane" },
            { value: "agent", label: "an agent" },
            { value: "everything", label: "everything" },
          ]}
        />
        {what === "lane" && (
          <Select
            label="Lane"
            value={target}
            onChange={(event) => setTarget(event.target.value)}
            error={wrong(pause.error, "lane")}
            choices={[
              { value: "", label: lanes.length ? "choose one" : "there is none yet" },
              ...lanes.map((lane) => ({ value: String(lane.id), label: laneName(lane) })),
            ]}
          />
        )}
        {(what === "type" || what === "agent") && (
          <Field
            label={what === "type" ? "Type" : "Agent"}
            value={target}
            list={names}
            onChange={(event) => setTarget(event.target.value)}
            error={wrong(pause.error, what)}
          />
        )}
        <datalist id={names}>
          {(what === "type" ? types : agents).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </Columns>
      <Field
        label="Reason"
        placeholder="the build is broken"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        error={wrong(pause.error, "reason")}
      />
      <Select
        label="For how long"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
        choices={LENGTHS}
        error={wrong(pause.error, "until")}
      />
    </FormDialog>
  );
}

function scopeOf(what: Pausable, target: string): Schemas["ResumeRequest"] & Schemas["PauseRequest"] {
  if (what === "everything") return { everything: true };
  if (what === "lane") return { lane: Number(target) };
  return { [what]: target.trim() };
}

/** A lane in words: its type, and what makes it one of its own. */
export function laneName(lane: Schemas["Lane"]): string {
  const parts = [
    lane.assignee && `for ${lane.assignee}`,
    lane.requires?.length && `needs ${lane.requires.join(", ")}`,
    lane.models?.length && lane.models.join(", "),
  ];
  const more = parts.filter(Boolean).join("; ");
  return `${lane.id}: ${lane.type}${more ? ` (${more})` : ""}`;
}
