// One decision for a whole group: how many it is about is looked up before, and exactly those are decided about.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Refused, useAct } from "../../api";
import { useMyself } from "../../api/myself";
import { Button, Columns, Dialog, Field, FormDialog, plural, Select, TextArea, Text, wrong } from "../../ui";
import styles from "./dead-letters.module.css";
import { decide, type Filter, idsOf, type Outcome, type Resolution, summed } from "./decide";

export type Deciding = "retry" | "later" | "drop" | "escalate" | "keep";

type Words = { resolution: Resolution; title: string; about: string; action: string; done: string; danger?: boolean };

const WORDS: Record<Deciding, Words> = {
  retry: {
    resolution: "retried",
    title: "Retry",
    about: "They are tried again now, and with them what was cancelled because of them.",
    action: "Retry",
    done: "retried",
  },
  later: {
    resolution: "retried",
    title: "Retry later",
    about: "They are tried again after a while.",
    action: "Retry later",
    done: "will be retried",
  },
  drop: {
    resolution: "dropped",
    title: "Drop",
    about: "They become cancelled. What followed from their failure stays as it is.",
    action: "Drop",
    done: "dropped",
    danger: true,
  },
  escalate: {
    resolution: "escalated",
    title: "Escalate",
    about: "Somebody else is asked what shall become of each; it is in their inbox.",
    action: "Escalate",
    done: "escalated",
  },
  keep: {
    resolution: "kept",
    title: "Keep",
    about: "They stay dead letters, and nobody has to look at them again.",
    action: "Keep",
    done: "kept",
  },
};
const DELAYS = ["5m", "15m", "1h", "4h", "1d"];

/** The dead letters a decision is about, as they are when it is being made. */
export function usePicked(filter: Filter) {
  return useQuery<string[], Refused>({
    queryKey: ["picked", filter],
    queryFn: () => idsOf(filter),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

type DecideDialogProps = { what: Deciding; type: string; filter: Filter; onClose: () => void };

export function DecideDialog({ what, type, filter, onClose }: DecideDialogProps) {
  const words = WORDS[what];
  const by = useMyself();
  const picked = usePicked(filter);
  const [note, setNote] = useState("");
  const [delay, setDelay] = useState("15m");
  const [to, setTo] = useState("");
  const [question, setQuestion] = useState("");
  const [done, setDone] = useState(0);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const ids = picked.data ?? [];
  const deciding = useAct(
    () =>
      decide(
        ids,
        {
          resolution: words.resolution,
          by,
          ...(note.trim() ? { note: note.trim() } : {}),
          ...(what === "later" ? { delay } : {}),
          ...(what === "escalate" ? { to: to.trim() } : {}),
          ...(what === "escalate" && question.trim() ? { question: question.trim() } : {}),
        },
        setDone,
      ),
    {
      quiet: true,
      done: (made) => (made.done ? `${plural(made.done, "dead letter")} ${words.done}.` : ""),
      onDone: (made) => (made.refused.length ? setOutcome(made) : onClose()),
    },
  );
  if (outcome) return <Refusals outcome={outcome} done={words.done} onClose={onClose} />;
  return (
    <FormDialog
      title={picked.data ? `${words.title}: ${plural(ids.length, "dead letter")} of ${type}?` : `${words.title}: …`}
      about={words.about}
      action={
        deciding.isPending
          ? `${done.toLocaleString("en-US")} of ${ids.length.toLocaleString("en-US")}`
          : `${words.action} ${ids.length.toLocaleString("en-US")}`
      }
      danger={words.danger ?? false}
      onClose={onClose}
      onSubmit={() => deciding.mutate()}
      busy={deciding.isPending || picked.isPending}
      disabled={ids.length === 0 || (what === "escalate" && !to.trim())}
      error={deciding.error ?? picked.error}
      fields={["note", "to", "question", "delay"]}
    >
      {what === "later" && (
        <Select
          label="After"
          value={delay}
          onChange={(event) => setDelay(event.target.value)}
          choices={DELAYS.map((value) => ({ value, label: value }))}
          error={wrong(deciding.error, "delay")}
        />
      )}
      {what === "escalate" && (
        <Columns>
          <Field
            label="To whom"
            about="a person or a team, such as human:grace"
            value={to}
            onChange={(event) => setTo(event.target.value)}
            error={wrong(deciding.error, "to")}
          />
          <Field
            label="Question"
            about="the usual one, if you leave it empty"
            value={question}
            onChange={(event) => setQuestion(event.target.value)}
            error={wrong(deciding.error, "question")}
          />
        </Columns>
      )}
      <TextArea
        label="Note"
        rows={2}
        about={`Kept with each of them, with you (${by}) as who decided.`}
        value={note}
        onChange={(event) => setNote(event.target.value)}
        error={wrong(deciding.error, "note")}
      />
    </FormDialog>
  );
}

/** What was refused, and why. */
export function Refusals({ outcome, done, onClose }: { outcome: Outcome; done: string; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${plural(outcome.refused.length, "dead letter was", "dead letters were")} refused`}
      about={`${outcome.done.toLocaleString("en-US")} ${done}. The others stay as they are:`}
      actions={<Button onClick={onClose}>Close</Button>}
    >
      <ul className={styles.refusals}>
        {summed(outcome.refused)
          .slice(0, 10)
          .map(([message, times]) => (
            <li key={message}>
              <b>{times} ×</b> <Text>{message}</Text>
            </li>
          ))}
      </ul>
    </Dialog>
  );
}
