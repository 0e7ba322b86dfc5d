// Schedules: what is made again and again, when next, and how the last one went.
import { CalendarClock, Plus } from "lucide-react";
import { useState } from "react";
import { useGet, useMay } from "../../api";
import { Button, Empty, Loaded, Page, Section } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { Row } from "./Row";
import { ScheduleDialog } from "./ScheduleDialog";

export default function Schedules() {
  // What they make is told as events of tasks, not of schedules.
  const schedules = useGet("/v1/schedules", undefined, { every: 5_000 });
  const mayAdd = useMay("PUT /v1/schedules/{name}");
  const [editing, setEditing] = useState<string | null>(null);
  return (
    <Page
      title="Schedules"
      about="Tasks and dags that are made at certain times."
      actions={
        mayAdd && (
          <Button look="primary" icon={<Plus />} onClick={() => setEditing("")}>
            Add a schedule
          </Button>
        )
      }
    >
      <Loaded of={schedules} lines={4}>
        {(all) => (
          <Section flush>
            {all.length === 0 ? (
              <Empty title="No schedules" icon={<CalendarClock />}>
                {mayAdd
                  ? "Add one to have a task made every night, every six hours, or once at a certain time."
                  : "Nothing is made by the clock."}
              </Empty>
            ) : (
              <ul className={styles.list} aria-label="Schedules">
                {all.map((each) => (
                  <Row key={each.name} schedule={each} onEdit={() => setEditing(each.name)} />
                ))}
              </ul>
            )}
          </Section>
        )}
      </Loaded>
      {editing !== null && <ScheduleDialog name={editing} onClose={() => setEditing(null)} />}
    </Page>
  );
}
