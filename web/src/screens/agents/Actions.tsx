// What can be done with an agent. Whoever may do nothing sees nothing here.
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { api, call, useAct, useGates, useMay } from "../../api";
import { Button, IconButton, Menu, type MenuItem } from "../../ui";
import { PauseDialog } from "../gates/PauseDialog";
import type { Agent } from "./known";
import styles from "./agents.module.css";
import { StopDialog } from "./StopDialog";
import { drain, takeWorkAgain } from "./verbs";

export function Actions({ agent, words }: { agent: Agent; words?: boolean }) {
  const { id } = agent;
  const paused = (useGates().data ?? []).some((each) => each.kind === "pause" && each.agent === id);
  const mayDrain = useMay("POST /v1/agents/{agent}/drain");
  const mayPause = useMay("POST /v1/pauses");
  const [asking, setAsking] = useState<"pause" | "stop" | null>(null);
  const draining = useAct(() => drain(id), { done: `${id} gets nothing new.`, undo: () => takeWorkAgain(id) });
  const again = useAct(() => takeWorkAgain(id), { done: `${id} gets work again.`, undo: () => drain(id) });
  const resume = useAct(() => call(api.POST("/v1/pauses/resume", { body: { agent: id } })), {
    done: `${id} is not paused any more.`,
  });
  const gone = useAct(
    () =>
      call(
        api.DELETE("/v1/agents/{agent}", { params: { path: { agent: id }, query: { reason: "said by an operator" } } }),
      ),
    { done: `${id} is gone. It comes back with its next claim.`, undo: () => takeWorkAgain(id) },
  );
  if (!mayDrain) return null;
  const items: MenuItem[] = [];
  if (agent.status === "draining") items.push({ label: "Let it take work", onSelect: () => again.mutate() });
  else if (agent.status !== "offline") items.push({ label: "Drain: let it finish", onSelect: () => draining.mutate() });
  if (mayPause) {
    items.push(
      paused
        ? { label: "Resume", onSelect: () => resume.mutate() }
        : { label: "Pause…", onSelect: () => setAsking("pause") },
    );
  }
  items.push("line");
  if (agent.status !== "offline") items.push({ label: "Mark as gone", onSelect: () => gone.mutate() });
  items.push({ label: "Stop…", danger: true, onSelect: () => setAsking("stop") });
  return (
    <>
      <Menu
        trigger={
          words ? (
            <Button icon={<Ellipsis />}>Actions</Button>
          ) : (
            <IconButton small label={`Actions for ${id}`} icon={<Ellipsis />} className={styles.dots} />
          )
        }
        items={items}
      />
      {asking === "pause" && <PauseDialog what="agent" target={id} onClose={() => setAsking(null)} />}
      {asking === "stop" && <StopDialog agent={agent} onClose={() => setAsking(null)} />}
    </>
  );
}
