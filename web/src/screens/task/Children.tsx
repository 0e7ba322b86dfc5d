// What the task spawned.
import { Link } from "@tanstack/react-router";
import { type Schemas, useTasks } from "../../api";
import { Duration, Loaded, Money, StatusBadge, Text } from "../../ui";
import { TaskLink } from "./links";
import styles from "./Task.module.css";

const SHOWN = 20;

export const useChildren = (id: string) => useTasks({ query: `parent:${id}`, limit: SHOWN });

type Found = ReturnType<typeof useChildren>;

export function Children({ id, found }: { id: string; found: Found }) {
  return (
    <Loaded of={found}>
      {(page) => (
        <>
          <ul className={styles.list}>
            {(page.items ?? []).map((child) => (
              <Child key={child.id} child={child} />
            ))}
          </ul>
          {page.cursor && (
            <Link to="/tasks" search={{ q: `parent:${id}` }} className={styles.more}>
              Show all of them
            </Link>
          )}
        </>
      )}
    </Loaded>
  );
}

function Child({ child }: { child: Schemas["Task"] }) {
  return (
    <li className={styles.listRow}>
      <StatusBadge status={child.status ?? "pending"} parked={child.parked_on ?? null} />
      <span className={styles.grow}>
        <TaskLink id={child.id}>
          <Text lines={1}>{child.title || child.ref || child.type}</Text>
        </TaskLink>
      </span>
      {child.started_at && <Duration from={child.started_at} to={child.completed_at ?? child.updated_at ?? null} />}
      <Money usd={child.cost_usd} />
    </li>
  );
}
