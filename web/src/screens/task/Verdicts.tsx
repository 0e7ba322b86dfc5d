// How the work was judged: by agents with tasks of their own, by people, and by what its contract checked.
import type { Schemas } from "../../api";
import { Ago, Badge, Json, Money, StatusBadge, Text } from "../../ui";
import { TaskLink } from "./links";
import styles from "./Task.module.css";

type Task = Schemas["Task"];
type Question = Schemas["Question"];
type Attempt = Schemas["Attempt"];

interface Props {
  task: Task;
  judges: readonly Task[];
  questions: readonly Question[];
  attempts: readonly Attempt[];
}

/** Whether there is anything to show. */
export function isJudged({ task, judges, questions }: Omit<Props, "attempts">): boolean {
  return task.expects != null || judges.length > 0 || questions.length > 0;
}

export function Verdicts({ task, judges, questions, attempts }: Props) {
  const rejected = attempts.filter((attempt) => attempt.outcome === "rejected");
  return (
    <div className={styles.stack}>
      {rejected.map((attempt) => (
        <div key={attempt.fence} className={styles.verdict}>
          <p>
            <Badge tone="orange">rejected</Badge> attempt #{attempt.number} by <Text>{attempt.agent}</Text>,{" "}
            <Ago at={attempt.ended_at ?? null} />
          </p>
          <Text mono>{attempt.error}</Text>
        </div>
      ))}
      {judges.map((judge) => (
        <Judge key={judge.id} judge={judge} />
      ))}
      {questions.map((question) => (
        <Asked key={question.id} question={question} />
      ))}
      {task.expects != null && (
        <details>
          <summary>What its output must be</summary>
          <Json value={task.expects} label="contract" />
        </details>
      )}
    </div>
  );
}

function Judge({ judge }: { judge: Task }) {
  const verdict = isRecord(judge.output) ? judge.output : null;
  const passed = verdict?.verdict === "pass";
  const criteria = isRecord(verdict?.criteria) ? Object.entries(verdict.criteria) : [];
  return (
    <div className={styles.verdict}>
      <p>
        {verdict === null ? (
          <StatusBadge status={judge.status ?? "pending"} />
        ) : (
          <Badge tone={passed ? "green" : "red"}>{passed ? "pass" : "fail"}</Badge>
        )}{" "}
        judge <TaskLink id={judge.id} /> {judge.agent ? <Text>{judge.agent}</Text> : null} ·{" "}
        <Money usd={judge.cost_usd} />
      </p>
      {typeof verdict?.reason === "string" && <Text>{verdict.reason}</Text>}
      {criteria.length > 0 && (
        <ul className={styles.criteria}>
          {criteria.map(([name, found]) => (
            <li key={name}>
              <Badge tone={isRecord(found) && found.pass === true ? "green" : "red"}>
                {isRecord(found) && found.pass === true ? "met" : "not met"}
              </Badge>{" "}
              <Text>{name}</Text>
              {isRecord(found) && typeof found.reason === "string" && (
                <>
                  {": "}
                  <Text className="muted">{found.reason}</Text>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Asked({ question }: { question: Question }) {
  return (
    <div className={styles.verdict}>
      <p>
        <Badge tone={question.status === "open" ? "amber" : question.status === "answered" ? "green" : "gray"}>
          {question.status ?? "open"}
        </Badge>{" "}
        <span className="muted">{question.kind}</span> <Text>{question.question}</Text>
      </p>
      {question.status === "answered" && (
        <>
          <p className="muted">
            {question.answered_by ? <Text>{question.answered_by}</Text> : "somebody"} answered{" "}
            <Ago at={question.answered_at ?? null} />
          </p>
          <Json value={question.answer} label="answer" />
        </>
      )}
    </div>
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
