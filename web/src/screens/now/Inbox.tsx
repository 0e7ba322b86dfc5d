// The inbox: what agents want to know, what waits for approval, what must be judged or decided; answered in place.
import { Link } from "@tanstack/react-router";
import { Check, CircleHelp, ClipboardCheck, type LucideIcon, Scale, ShieldQuestion, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAbout, useAct, useMay, useTask } from "../../api";
import { Ago, Badge, Button, Empty, Json, Loaded, SchemaForm, Text, TextArea, type Tone } from "../../ui";
import styles from "./Now.module.css";

type Question = Schemas["Question"];

const KINDS: Record<string, { tone: Tone; icon: LucideIcon; word: string }> = {
  question: { tone: "blue", icon: CircleHelp, word: "question" },
  approval: { tone: "amber", icon: ShieldQuestion, word: "approval" },
  validation: { tone: "violet", icon: ClipboardCheck, word: "review" },
  decision: { tone: "red", icon: Scale, word: "dead letter" },
  escalation: { tone: "orange", icon: TriangleAlert, word: "escalation" },
};
/** So many have their form open at first. */
const OPEN = 3;

export function Inbox({ questions }: { questions: Question[] }) {
  if (questions.length === 0) {
    return (
      <div className={styles.card}>
        <Empty title="Nothing waits for you" icon={<Check />}>
          Questions of agents, approvals and reviews appear here as soon as somebody asks.
        </Empty>
      </div>
    );
  }
  return (
    <ul className={styles.inbox}>
      {questions.map((question, index) => (
        <Item key={question.id} question={question} open={index < OPEN} />
      ))}
    </ul>
  );
}

function Item({ question, open }: { question: Question; open: boolean }) {
  const kind = KINDS[question.kind] ?? KINDS.question!;
  const may = useMay("POST /v1/questions/{question_id}/answer");
  const by = useAbout().data?.name ?? null;
  const [answering, setAnswering] = useState(open);
  const act = useAct(
    (value: unknown) =>
      call(
        api.POST("/v1/questions/{question_id}/answer", {
          params: { path: { question_id: question.id } },
          body: { value, by },
        }),
      ),
    { done: "Answered.", quiet: true },
  );
  return (
    <li className={styles.card} data-question={question.id}>
      <div className={styles.itemHead}>
        <Badge tone={kind.tone} icon={<kind.icon aria-hidden />}>
          {kind.word}
        </Badge>
        <Link to="/tasks/$id" params={{ id: question.task_id }} className={styles.taskLink}>
          <bdi>{question.title || question.type || question.task_id}</bdi>
        </Link>
        <span className={styles.aside}>
          {question.assignee && <bdi>for {question.assignee} · </bdi>}
          <Ago at={question.asked_at} />
        </span>
      </div>
      <div className={styles.question}>
        <Text>{question.question}</Text>
      </div>
      {question.expires_at != null && (
        <p className={styles.expires}>
          Ends <Ago at={question.expires_at} />
          {question.default == null ? ", then it is given up." : ", then the default is taken."}
        </p>
      )}
      {question.kind === "validation" && <Output id={question.task_id} />}
      {may && !answering && (
        <Button small onClick={() => setAnswering(true)}>
          Answer …
        </Button>
      )}
      {may && answering && (
        <Form question={question} busy={act.isPending} error={act.error?.message ?? null} onAnswer={act.mutate} />
      )}
    </li>
  );
}

type FormProps = { question: Question; busy: boolean; error: string | null; onAnswer: (value: unknown) => void };

function Form({ question, busy, error, onAnswer }: FormProps) {
  if (question.kind === "approval") {
    return (
      <Presses error={error}>
        <Button look="primary" busy={busy} onClick={() => onAnswer(true)}>
          Approve
        </Button>
        <Button look="danger" busy={busy} onClick={() => onAnswer(false)}>
          Refuse
        </Button>
      </Presses>
    );
  }
  if (question.kind === "validation") return <Verdict busy={busy} error={error} onAnswer={onAnswer} />;
  if (question.kind === "decision") return <Decision busy={busy} error={error} onAnswer={onAnswer} />;
  return (
    <SchemaForm
      schema={question.schema}
      initial={question.default ?? undefined}
      submit="Answer"
      busy={busy}
      error={error}
      onSubmit={onAnswer}
    />
  );
}

function Presses({ error, children }: { error: string | null; children: React.ReactNode }) {
  return (
    <>
      <div className={styles.presses}>{children}</div>
      {error && (
        <p className={styles.wrong} role="alert">
          {error}
        </p>
      )}
    </>
  );
}

function Verdict({ busy, error, onAnswer }: Omit<FormProps, "question">) {
  const [reason, setReason] = useState("");
  const why = reason.trim() ? { reason: reason.trim() } : {};
  return (
    <>
      <TextArea
        label="What is wrong with it, if anything"
        rows={1}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Presses error={error}>
        <Button look="primary" busy={busy} onClick={() => onAnswer({ approve: true, ...why })}>
          Approve
        </Button>
        <Button look="danger" busy={busy} onClick={() => onAnswer({ approve: false, ...why })}>
          Send back
        </Button>
      </Presses>
    </>
  );
}

function Decision({ busy, error, onAnswer }: Omit<FormProps, "question">) {
  const [note, setNote] = useState("");
  const said = (what: string) => () => onAnswer(note.trim() ? { do: what, note: note.trim() } : { do: what });
  return (
    <>
      <TextArea
        label="Note for the log (optional)"
        rows={1}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <Presses error={error}>
        <Button look="primary" busy={busy} onClick={said("retry")}>
          Retry
        </Button>
        <Button busy={busy} onClick={said("keep")}>
          Keep
        </Button>
        <Button look="danger" busy={busy} onClick={said("drop")}>
          Drop
        </Button>
      </Presses>
    </>
  );
}

/** What was handed in, for whoever must judge it. */
function Output({ id }: { id: string }) {
  const task = useTask(id);
  return (
    <Loaded of={task} lines={2}>
      {(found) => <Json value={found.output} open={1} label="output" />}
    </Loaded>
  );
}
