// What can be done about a gate from here: raise the budget, end the pause.
import { Play, Wallet } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useBudgets, useMay } from "../../api";
import { Button } from "../../ui";
import { budgetsOf } from "./budgets";
import { RaiseBudget } from "./RaiseBudget";
import styles from "./Task.module.css";

type Task = Schemas["Task"];

export function GateActions({ task, gates }: { task: Task; gates: readonly string[] }) {
  const mayRaise = useMay("POST /v1/budgets/{scope}/raise");
  const mayResume = useMay("POST /v1/pauses/resume");
  const budgets = budgetsOf(task, useBudgets().data ?? []);
  const [raising, setRaising] = useState(false);
  const resume = useAct((gate: string) => call(api.POST("/v1/pauses/resume", { body: scopeOf(gate) })), {
    done: "Resumed.",
  });
  const paused = gates.filter((gate) => /^(type|lane|agent):|^everything$/.test(gate));
  if (!(mayRaise && task.parked_on && budgets.length > 0) && !(mayResume && paused.length > 0)) return null;
  return (
    <div className={styles.buttons}>
      {mayRaise && task.parked_on && budgets.length > 0 && (
        <Button small icon={<Wallet />} onClick={() => setRaising(true)}>
          Raise budget…
        </Button>
      )}
      {mayResume &&
        paused.map((gate) => (
          <Button key={gate} small icon={<Play />} busy={resume.isPending} onClick={() => resume.mutate(gate)}>
            Resume {gate.replace(":", " ")}
          </Button>
        ))}
      {raising && <RaiseBudget task={task} onClose={() => setRaising(false)} />}
    </div>
  );
}

/** What a pause closed, as the verb names it. */
function scopeOf(gate: string): Schemas["ResumeRequest"] {
  const [scope, name = ""] = [gate.split(":", 1)[0], gate.slice(gate.indexOf(":") + 1)];
  if (scope === "type") return { type: name };
  if (scope === "agent") return { agent: name };
  if (scope === "lane") return { lane: Number(name) };
  return { everything: true };
}
