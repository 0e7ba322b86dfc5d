// Retry with another payload: of one task, written as a whole, or the same change in all of the group.
import { useState } from "react";
import { readExact, type Schemas, stringifyExact, useAct, useTask } from "../../api";
import { useMyself } from "../../api/myself";
import { Checkbox, Dialog, Field, FormDialog, Json, JsonField, Loaded, plural, Select } from "../../ui";
import { Refusals, usePicked } from "./DecideDialog";
import styles from "./dead-letters.module.css";
import { type Filter, isPatch, type Outcome, retryPatched, retryWith } from "./decide";
import { merged } from "./patch";

type ModifyDialogProps = { group: Schemas["DeadGroup"]; filter: Filter; onClose: () => void };

/** So many payloads are changed from here at most; more is for a program. */
const MOST = 2_000;

export function ModifyDialog({ group, filter, onClose }: ModifyDialogProps) {
  const [sample = ""] = group.task_ids ?? [];
  const task = useTask(sample);
  return task.data ? (
    <Form group={group} filter={filter} task={task.data} onClose={onClose} />
  ) : (
    <Dialog open onClose={onClose} title="Modify and retry">
      <Loaded of={task}>{() => null}</Loaded>
    </Dialog>
  );
}

function Form({ group, filter, task, onClose }: ModifyDialogProps & { task: Schemas["Task"] }) {
  const by = useMyself();
  const picked = usePicked(filter);
  const [all, setAll] = useState(false);
  const [whole, setWhole] = useState(() => stringifyExact(task.payload ?? null, 2));
  const [patch, setPatch] = useState("{\n  \n}");
  const [note, setNote] = useState("");
  const [steps, setSteps] = useState(true);
  const [done, setDone] = useState(0);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const ids = picked.data ?? [];
  const given = readExact(all ? patch : whole);
  const retry = useAct(
    async (): Promise<Outcome> => {
      if (all) return retryPatched(ids, { patch: given.value, by, note: note.trim(), keep_steps: steps }, setDone);
      await retryWith(task.id, given.value, by, note.trim(), steps);
      return { done: 1, refused: [] };
    },
    {
      quiet: true,
      done: (made) => (made.done ? `${plural(made.done, "dead letter")} retried with another payload.` : ""),
      onDone: (made) => (made.refused.length ? setOutcome(made) : onClose()),
    },
  );
  if (outcome) return <Refusals outcome={outcome} done="retried" onClose={onClose} />;
  const many = all ? ids.length : 1;
  return (
    <FormDialog
      wide
      title={`Modify and retry: ${plural(many, "dead letter")} of ${group.type}`}
      action={retry.isPending ? `${done} of ${many}` : `Retry ${many.toLocaleString("en-US")}`}
      onClose={onClose}
      onSubmit={() => retry.mutate()}
      busy={retry.isPending || (all && picked.isPending)}
      disabled={given.fault !== null || (all ? !isPatch(given.value) || ids.length > MOST : given.value === null)}
      error={retry.error}
      fields={["payload"]}
    >
      <Select
        label="Change"
        value={all ? "all" : "one"}
        onChange={(event) => setAll(event.target.value === "all")}
        choices={[
          { value: "one", label: "the newest one, to see whether it helps" },
          {
            value: "all",
            label: `the same fields in all ${ids.length ? ids.length.toLocaleString("en-US") : ""} of the group`,
          },
        ]}
      />
      <div className={styles.twin}>
        <JsonField
          key={all ? "all" : "one"}
          label={all ? "What to change" : "Payload"}
          about={all ? "What it names is set, null takes it away; the rest of each payload stays." : undefined}
          value={all ? patch : whole}
          onChange={all ? setPatch : setWhole}
          error={
            given.fault ??
            (all && ids.length > MOST
              ? `At most ${MOST.toLocaleString("en-US")} at once.`
              : retry.error?.field === "payload"
                ? retry.error.message
                : undefined)
          }
        />
        {all && (
          <div className={styles.preview}>
            <p className={styles.label}>The newest one then has</p>
            <Json
              value={given.fault !== null ? task.payload : merged(task.payload, given.value)}
              label="the changed payload"
            />
          </div>
        )}
      </div>
      <Field label="Note" value={note} onChange={(event) => setNote(event.target.value)} />
      <Checkbox
        label="Keep the steps that were done"
        checked={steps}
        onChange={(event) => setSteps(event.target.checked)}
      />
    </FormDialog>
  );
}
