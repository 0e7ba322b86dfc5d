// Another life for a task that ended badly: as it is, or with another payload.
import { useState } from "react";
import { readExact, type Schemas, stringifyExact, useAct } from "../../api";
import { useMyself } from "../../api/myself";
import { Checkbox, Field, FormDialog, JsonField } from "../../ui";
import { live, type Wanted } from "./retrying";

type Task = Schemas["Task"];

export function RetryTask({ task, modify, onClose }: { task: Task; modify: boolean; onClose: () => void }) {
  const by = useMyself();
  const [keepSteps, setKeepSteps] = useState(true);
  const [note, setNote] = useState("");
  const [text, setText] = useState(() => stringifyExact(task.payload ?? null, 2));
  const read = modify ? readExact(text) : { value: undefined, fault: null };
  const isDead = task.status === "dead_lettered";
  const retry = useAct((wanted: Wanted) => live(task, by, wanted), {
    quiet: true,
    done: "It lives again; what was cancelled because of it is back, too.",
    onDone: onClose,
  });
  const refused = retry.error?.field === "payload" ? retry.error.message : null;
  return (
    <FormDialog
      wide={modify}
      title={modify ? "Modify and retry" : "Retry this task?"}
      about={`Its attempts are counted anew; its history stays.${isDead ? " The decision is recorded with your name." : ""}`}
      action="Retry"
      onClose={onClose}
      onSubmit={() => retry.mutate({ keepSteps, note: note.trim(), ...(modify ? { payload: read.value } : {}) })}
      busy={retry.isPending}
      disabled={read.fault !== null}
      error={retry.error}
      fields={modify ? ["payload"] : []}
    >
      {modify && (
        <JsonField
          label="Payload (JSON)"
          about="Numbers are sent exactly as they are written here. Ctrl Enter retries."
          value={text}
          onChange={(changed) => {
            setText(changed);
            if (retry.error) retry.reset();
          }}
          error={read.fault ?? refused}
          autoFocus
        />
      )}
      <Checkbox
        label="Keep the steps that are done"
        checked={keepSteps}
        onChange={(event) => setKeepSteps(event.target.checked)}
      />
      {isDead && (
        <Field
          label="Note (optional)"
          value={note}
          maxLength={4000}
          onChange={(event) => setNote(event.target.value)}
        />
      )}
    </FormDialog>
  );
}
