// Where the task came from, and what was asked of it.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "../../api";
import { Ago, Badge, Count, Duration, duration, Money, Text } from "../../ui";
import { written } from "../tasks/words";
import { DagLink, TaskLink } from "./links";
import styles from "./Task.module.css";

type Task = Schemas["Task"];

/** A name and what there is to say; nothing, if there is nothing. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children == null || children === "" || children === false) return null;
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Provenance({ task }: { task: Task }) {
  return (
    <dl className={styles.facts}>
      <Fact name="Id">
        <code title={task.id}>{task.id}</code>
      </Fact>
      <Fact name="Created">
        <Ago at={task.created_at ?? null} />
      </Fact>
      <Fact name="Created by">{task.created_by && <Creator name={task.created_by} />}</Fact>
      <Fact name="User">{task.user && <Filtered name="user" value={task.user} />}</Fact>
      <Fact name="Parent">{task.parent_id && <TaskLink id={task.parent_id} />}</Fact>
      <Fact name="Dag">{task.dag_id && <DagLink id={task.dag_id} />}</Fact>
      <Fact name="Ref">{task.ref && <Text>{task.ref}</Text>}</Fact>
      <Fact name="Depends on">
        {(task.depends_on ?? []).length > 0 && (
          <span className={styles.ids}>
            {(task.depends_on ?? []).slice(0, 20).map((id) => (
              <TaskLink key={id} id={id} />
            ))}
            {(task.depends_on ?? []).length > 20 && (
              <span className="muted">and {(task.depends_on ?? []).length - 20} more</span>
            )}
          </span>
        )}
      </Fact>
      <Fact name="Key">{task.key && <Text>{task.key}</Text>}</Fact>
      <Fact name="Cancelled because of">{task.cause && task.cause !== task.id && <TaskLink id={task.cause} />}</Fact>
      <Fact name="Group">{task.coalesce_key && <Text>{task.coalesce_key}</Text>}</Fact>
    </dl>
  );
}

export function Terms({ task }: { task: Task }) {
  return (
    <dl className={styles.facts}>
      <Fact name="Type">
        <Filtered name="type" value={task.type} />
      </Fact>
      <Fact name="Tags">
        {(task.tags ?? []).length > 0 && (
          <span className={styles.ids}>
            {(task.tags ?? []).map((tag) => (
              <Filtered key={tag} name="tag" value={tag} />
            ))}
          </span>
        )}
      </Fact>
      <Fact name="Priority">
        {task.priority}
        {task.effective_priority != null && rounded(task.effective_priority) !== task.priority && (
          <span className="muted"> (now {rounded(task.effective_priority)})</span>
        )}
      </Fact>
      <Fact name="Attempts">
        {task.attempts ?? 0} of {task.max_attempts}
        {task.crashes ? <span className="muted"> ({task.crashes} crashed)</span> : null}
      </Fact>
      <Fact name="Agent">{task.agent && <Filtered name="agent" value={task.agent} />}</Fact>
      <Fact name="Assignee">{task.assignee && <Text>{task.assignee}</Text>}</Fact>
      <Fact name="Requires">{(task.requires ?? []).length > 0 && <Text>{(task.requires ?? []).join(", ")}</Text>}</Fact>
      <Fact name="Models">{(task.models ?? []).length > 0 && <Text>{(task.models ?? []).join(", ")}</Text>}</Fact>
      <Fact name="Fallback models">
        {(task.fallback_models ?? []).length > 0 && <Text>{(task.fallback_models ?? []).join(", ")}</Text>}
      </Fact>
      <Fact name="Provider">{task.provider && <Text>{task.provider}</Text>}</Fact>
      <Fact name="Locks">{(task.locks ?? []).length > 0 && <Text>{(task.locks ?? []).join(", ")}</Text>}</Fact>
      <Fact name="Cost">
        {(task.cost_usd != null || task.max_cost != null) && (
          <>
            <Money usd={task.cost_usd} />
            {task.max_cost != null && (
              <span className="muted">
                {" "}
                of <Money usd={task.max_cost} />
              </span>
            )}
          </>
        )}
      </Fact>
      <Fact name="Tokens">
        {(task.tokens_in != null || task.max_tokens != null) && (
          <>
            <Count value={task.tokens_in} /> in, <Count value={task.tokens_out} /> out
            {task.max_tokens != null && (
              <span className="muted">
                {" "}
                of <Count value={task.max_tokens} />
              </span>
            )}
          </>
        )}
      </Fact>
      <Fact name="Turns">
        {(task.turns != null || task.max_turns != null) && (
          <>
            <Count value={task.turns} />
            {task.max_turns != null && <span className="muted"> of {task.max_turns}</span>}
          </>
        )}
      </Fact>
      <Fact name="Timeout">{task.timeout != null && <Duration seconds={task.timeout} />}</Fact>
      <Fact name="Deadline">
        {task.deadline && (
          <>
            <Ago at={task.deadline} /> {task.overdue && <Badge tone="red">overdue</Badge>}
          </>
        )}
      </Fact>
      <Fact name="Runs after">{task.run_after && <Ago at={task.run_after} />}</Fact>
      <Fact name="Retry">{task.retry && <span>{retryInWords(task.retry)}</span>}</Fact>
    </dl>
  );
}

/** Who made it: a person or a program, or a schedule or trigger of this queue. */
function Creator({ name }: { name: string }) {
  if (name.startsWith("cron:")) return <Link to="/schedules">schedule {name.slice(5)}</Link>;
  if (name.startsWith("trigger:")) return <Link to="/schedules">trigger {name.slice(8)}</Link>;
  return <Text>{name}</Text>;
}

/** A value, and all tasks that have it. */
function Filtered({ name, value }: { name: string; value: string }) {
  return (
    <Link
      to="/tasks"
      search={{ q: `${name}:${written(value)}` }}
      title={`All tasks with this ${name}`}
      className={styles.filtered}
    >
      {value}
    </Link>
  );
}

const rounded = (priority: number) => Math.round(priority * 10) / 10;

function retryInWords({ strategy = "exponential", delay = 10, cap = 300 }: NonNullable<Task["retry"]>): string {
  return strategy === "immediate" ? strategy : `${strategy}, first after ${duration(delay)}, at most ${duration(cap)}`;
}
