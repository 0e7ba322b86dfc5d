// A question of this task, answered where it is asked.
import { useState } from "react";
import { api, call, type Schemas, useAct, useMay, useQuestions } from "../../api";
import { Ago, Button, Field, SchemaForm, Text } from "../../ui";
import styles from "./Task.module.css";

type Question = Schemas["Question"];

export function Answer({ taskId, questionId }: { taskId: string; questionId: string }) {
  const questions = useQuestions(taskId);
  const question = questions.data?.find((each) => each.id === questionId);
  if (question === undefined) return null;
  return <Asked question={question} />;
}

function Asked({ question }: { question: Question }) {
  const may = useMay("POST /v1/questions/{question_id}/answer");
  const answer = useAct(
    (value: unknown) =>
      call(
        api.POST("/v1/questions/{question_id}/answer", {
          params: { path: { question_id: question.id } },
          body: { value },
        }),
      ),
    { done: "Answered; the task goes on." },
  );
  return (
    <div className={styles.asked}>
      <p className={styles.question}>
        <Text>{question.question}</Text>
      </p>
      <p className="muted">
        asked <Ago at={question.asked_at ?? null} />
        {question.assignee && (
          <>
            {" "}
            of <Text>{question.assignee}</Text>
          </>
        )}
        {question.expires_at && (
          <>
            ; its time ends <Ago at={question.expires_at} />
          </>
        )}
      </p>
      {may && <Form question={question} busy={answer.isPending} send={(value) => answer.mutate(value)} />}
    </div>
  );
}

function Form({ question, busy, send }: { question: Question; busy: boolean; send: (value: unknown) => void }) {
  if (question.kind === "approval") {
    return (
      <div className={styles.buttons}>
        <Button look="primary" busy={busy} onClick={() => send(true)}>
          Approve
        </Button>
        <Button look="danger" busy={busy} onClick={() => send(false)}>
          Decline
        </Button>
      </div>
    );
  }
  if (question.kind === "validation") return <Verdict busy={busy} send={send} />;
  return <SchemaForm schema={question.schema} submit="Answer" busy={busy} onSubmit={send} />;
}

function Verdict({ busy, send }: { busy: boolean; send: (value: unknown) => void }) {
  const [reason, setReason] = useState("");
  return (
    <div className={styles.buttons}>
      <Button look="primary" busy={busy} onClick={() => send({ approve: true })}>
        Accept
      </Button>
      <Field
        label="What is wrong with it"
        hideLabel
        placeholder="What is wrong with it?"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Button
        look="danger"
        busy={busy}
        disabled={reason.trim() === ""}
        onClick={() => send({ approve: false, reason })}
      >
        Send back
      </Button>
    </div>
  );
}
