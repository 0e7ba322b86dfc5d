// Gates: what stops ready work, and how far it may go. Everything is changed where it stands.
import { CirclePause } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../api";
import { Button, Page } from "../../ui";
import { Breakers } from "./Breakers";
import { Budgets } from "./Budgets";
import { Closed } from "./Closed";
import styles from "../../ui/Rows.module.css";
import { Locks } from "./Locks";
import { PauseDialog } from "./PauseDialog";
import { Rates } from "./Rates";
import { Slots } from "./Slots";

export default function Gates() {
  const mayPause = useMay("POST /v1/pauses");
  const [pausing, setPausing] = useState(false);
  return (
    <Page
      title="Gates"
      about="What stops ready tasks, and how much the work may use."
      actions={
        mayPause && (
          <Button icon={<CirclePause />} onClick={() => setPausing(true)}>
            Pause…
          </Button>
        )
      }
    >
      <Closed />
      <Budgets />
      <Breakers />
      <div className={styles.pair}>
        <Locks />
        <div className={styles.stack}>
          <Slots />
          <Rates />
        </div>
      </div>
      {pausing && <PauseDialog onClose={() => setPausing(false)} />}
    </Page>
  );
}
