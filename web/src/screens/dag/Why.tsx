import { useWhy } from "../../api";
import { Ago, Text } from "../../ui";
import styles from "./Dag.module.css";

/** Why a task is where it is: the sentence, and what would help. */
export function Why({ id, short }: { id: string; short?: boolean }) {
  const { data, error } = useWhy(id);
  if (error) return <p className="muted">{error.message}</p>;
  if (!data) return <p className="muted">…</p>;
  const blockers = data.blockers ?? [];
  return (
    <div className={styles.why}>
      <p>
        <Text>{data.explanation}</Text>
      </p>
      {!short && blockers.length > 0 && (
        <ul>
          {blockers.map((blocker, at) => (
            <li key={at}>
              <Text>{blocker.detail}</Text>
              {blocker.until && (
                <span className="muted">
                  {" "}
                  until <Ago at={blocker.until} />
                </span>
              )}
              {blocker.help && (
                <span className="muted">
                  {" "}
                  <Text>{blocker.help}</Text>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
