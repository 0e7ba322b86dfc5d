// A task that ended because something was used up: what can be done about that, here.
import { useNavigate } from "@tanstack/react-router";
import { CopyPlus, Wallet } from "lucide-react";
import { useState } from "react";
import { type Schemas, useBudgets, useMay } from "../../api";
import { Button } from "../../ui";
import { keep } from "../submit/kept";
import { budgetsOf } from "./budgets";
import { copyOf, ownLimit, usedUp } from "./copy";
import { RaiseBudget } from "./RaiseBudget";
import styles from "./Task.module.css";

export function Overspent({ task }: { task: Schemas["Task"] }) {
  const navigate = useNavigate();
  const mayAdd = useMay("POST /v1/dags");
  const mayRaise = useMay("POST /v1/budgets/{scope}/raise");
  const budgets = budgetsOf(task, useBudgets().data ?? []);
  const [raising, setRaising] = useState(false);
  const own = ownLimit(task);
  if (own !== null) {
    if (!mayAdd) return null;
    return (
      <div className={styles.buttons}>
        <Button
          small
          icon={<CopyPlus />}
          onClick={() => {
            keep(copyOf(task, own));
            void navigate({ to: "/submit" });
          }}
        >
          Submit a copy with a higher {own}…
        </Button>
        <span className="muted">The limit is the task's own, for all its attempts: a retry would meet it again.</span>
      </div>
    );
  }
  if (usedUp(task) === null || !mayRaise || budgets.length === 0) return null;
  return (
    <div className={styles.buttons}>
      <Button small icon={<Wallet />} onClick={() => setRaising(true)}>
        Raise budget and retry…
      </Button>
      {raising && <RaiseBudget task={task} onClose={() => setRaising(false)} />}
    </div>
  );
}
