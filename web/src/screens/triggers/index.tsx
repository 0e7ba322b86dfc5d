// Triggers: what is made when something happens.
import { Plus, Zap } from "lucide-react";
import { useState } from "react";
import { useGet, useMay } from "../../api";
import { Button, Empty, Loaded, Page, Section, ShownOnce } from "../../ui";
import styles from "../../ui/Rows.module.css";
import type { Trigger } from "./draft";
import { Row } from "./Row";
import { TestDialog } from "./TestDialog";
import { Address, TriggerDialog } from "./TriggerDialog";

export default function Triggers() {
  // What they make is told as events of tasks, not of triggers.
  const triggers = useGet("/v1/triggers", undefined, { every: 5_000 });
  const mayAdd = useMay("PUT /v1/triggers/{name}");
  const [editing, setEditing] = useState<string | null>(null);
  const [testing, setTesting] = useState<Trigger | null>(null);
  const [made, setMade] = useState<Trigger | null>(null);
  return (
    <Page
      title="Triggers"
      about="Tasks and dags that are made when something happens."
      actions={
        mayAdd && (
          <Button look="primary" icon={<Plus />} onClick={() => setEditing("")}>
            Add a trigger
          </Button>
        )
      }
    >
      <Loaded of={triggers} lines={4}>
        {(all) => (
          <Section flush>
            {all.length === 0 ? (
              <Empty title="No triggers" icon={<Zap />}>
                {mayAdd
                  ? "Add one to have a task made for an event, a webhook, a type that fails too often, or a file that changes."
                  : "Nothing is made by itself when something happens."}
              </Empty>
            ) : (
              <ul className={styles.list} aria-label="Triggers">
                {all.map((each) => (
                  <Row
                    key={each.name}
                    trigger={each}
                    onEdit={() => setEditing(each.name)}
                    onTest={() => setTesting(each)}
                  />
                ))}
              </ul>
            )}
          </Section>
        )}
      </Loaded>
      {editing !== null && (
        <TriggerDialog
          name={editing}
          onClose={() => setEditing(null)}
          onMade={(trigger) => {
            if (trigger.secrets?.length) setMade(trigger);
          }}
        />
      )}
      {testing && <TestDialog trigger={testing} onClose={() => setTesting(null)} />}
      {made && (
        <ShownOnce
          title={`The secret of ${made.name}`}
          about="Give it to the sender: requests are signed with it."
          secret={(made.secrets ?? []).join("\n")}
          onClose={() => setMade(null)}
        >
          <Address name={made.name} />
        </ShownOnce>
      )}
    </Page>
  );
}
