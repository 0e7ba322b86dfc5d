// Locks: who holds them, who waits, and how many may at once.
import { Lock as LockIcon } from "lucide-react";
import { api, call, type Schemas, useAct, useLocks, useMay } from "../../api";
import { Ago, Badge, EditNumber, Empty, Loaded, plural, Section, TaskLink, Text } from "../../ui";
import styles from "../../ui/Rows.module.css";

export function Locks() {
  const locks = useLocks();
  return (
    <Section title="Locks" flush>
      <Loaded of={locks} lines={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No lock is held" icon={<LockIcon />}>
              Tasks that name a lock take turns.
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Locks">
              {all.map((each) => (
                <Row key={each.name} lock={each} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}

function Row({ lock }: { lock: Schemas["Lock"] }) {
  const maySet = useMay("PUT /v1/slots");
  const slots = lock.slots ?? 1;
  const holders = lock.holders ?? [];
  const put = (wanted: number) => call(api.PUT("/v1/slots", { body: { name: lock.name, slots: wanted } }));
  const set = useAct(put, {
    done: (_, wanted) => `${lock.name} has ${plural(wanted, "slot")} now.`,
    undo: () => put(slots),
  });
  return (
    <li className={styles.row} data-lock={lock.name}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{lock.name}</strong>
          {(lock.waiting ?? 0) > 0 && <Badge tone="amber">{plural(lock.waiting ?? 0, "task")} waiting</Badge>}
          <span className={styles.aside}>
            {holders.length} of{" "}
            <EditNumber
              value={slots}
              label={`Slots of the lock ${lock.name}`}
              fixed={!maySet}
              onSave={(wanted) => set.mutate(wanted)}
            />{" "}
            held
          </span>
        </div>
        {holders.length > 0 && (
          <ul className={styles.holders}>
            {holders.map((holder) => (
              <li key={`${holder.task_id} ${holder.fence}`}>
                <TaskLink task={holder.task_id} />
                {holder.agent && (
                  <span>
                    by <Text>{holder.agent}</Text>
                  </span>
                )}
                {holder.since && (
                  <span className="muted">
                    <Ago at={holder.since} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
        {lock.reserved_for && (
          <div className={styles.facts}>
            <span>
              next: <TaskLink task={lock.reserved_for} />
            </span>
          </div>
        )}
      </div>
    </li>
  );
}
