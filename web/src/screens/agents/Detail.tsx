// All that is known of one agent.
import type { ReactNode } from "react";
import { Ago, Badge, Button, Count, Dialog, Duration, Money, StatusBadge, TaskLink, Text } from "../../ui";
import { Actions } from "./Actions";
import styles from "./agents.module.css";
import type { Known } from "./known";
import { Elapsed } from "./Elapsed";

export function Detail({ known, onClose }: { known: Known; onClose: () => void }) {
  const { agent, tasks, did, paused } = known;
  const most = agent.max_concurrent ?? agent.concurrency;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={agent.id}
      actions={
        <>
          <Actions agent={agent} words />
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <div className={styles.detail}>
        <dl className={styles.facts}>
          <Fact name="State">
            <StatusBadge status={agent.status ?? "active"} />
            {agent.reason && (
              <>
                {" "}
                <Text>{agent.reason}</Text>
              </>
            )}
            {paused && (
              <>
                {" "}
                <Badge tone="amber">paused</Badge> <Text>{paused.reason}</Text>
              </>
            )}
          </Fact>
          <Fact name="Heard">
            <Ago at={agent.heard_at} />
          </Fact>
          <Fact name="Type">{agent.type && <Text>{agent.type}</Text>}</Fact>
          <Fact name="In use">
            {agent.tasks?.length ?? 0}
            {most != null && ` of ${most}`}
            {agent.utilisation != null && <span className="muted"> ({Math.round(agent.utilisation * 100)} %)</span>}
          </Fact>
          <Fact name="Can">
            <Names all={agent.capabilities} />
          </Fact>
          <Fact name="Models">
            <Names all={agent.models} />
          </Fact>
          <Fact name="Takes">{agent.types ? <Names all={agent.types} /> : "any type"}</Fact>
          <Fact name="Process">
            <Text>
              {[agent.host, agent.pid == null ? null : `pid ${agent.pid}`, agent.version && `dibs ${agent.version}`]
                .filter(Boolean)
                .join(" · ")}
            </Text>
          </Fact>
          <Fact name="Started">{agent.started_at && <Ago at={agent.started_at} />}</Fact>
          <Fact name="Cost, 24 h">
            <Money usd={did?.cost_usd} unpriced={did?.unpriced ?? 0} />
          </Fact>
          <Fact name="Ended, 24 h">
            {did && (
              <>
                <Count value={did.completed ?? 0} /> completed, <Count value={did.failed ?? 0} /> failed
                {did.run_p50_s != null && (
                  <>
                    , half within <Duration seconds={did.run_p50_s} />
                  </>
                )}
              </>
            )}
          </Fact>
        </dl>
        <h3 className={styles.heading}>Working on</h3>
        {(agent.tasks ?? []).length === 0 && <p className="muted">Nothing.</p>}
        <ul className={styles.tasks}>
          {tasks.map((task) => (
            <li key={task.id} className={styles.one}>
              <div className={styles.oneHead}>
                <TaskLink task={task} />
                <StatusBadge status={task.status ?? "running"} />
                <span className="muted">{task.type}</span>
              </div>
              <Elapsed task={task} bar />
              <div className={styles.small}>
                {task.renewed_at && (
                  <span>
                    renewed <Ago at={task.renewed_at} />
                  </span>
                )}
                {task.progress != null && <span>{Math.round(task.progress * 100)} %</span>}
                {task.note && <Text>{task.note}</Text>}
              </div>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children || <span className="muted">–</span>}</dd>
    </div>
  );
}

function Names({ all }: { all: readonly string[] | undefined }) {
  if (!all?.length) return <span className="muted">–</span>;
  return (
    <span className={styles.names}>
      {all.map((name) => (
        <Badge key={name}>{name}</Badge>
      ))}
    </span>
  );
}
