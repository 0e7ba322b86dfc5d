// Agents with what other resources say of them.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, call, type Schemas, useGates, useMetrics } from "../../api";

export type Agent = Schemas["Agent"];
export type Task = Schemas["Task"];
/** An agent with what is known of it from elsewhere: its tasks, what it did and cost, whether somebody paused it. */
export type Known = {
  agent: Agent;
  tasks: Task[];
  did: Schemas["Metrics"] | undefined;
  paused: Schemas["Closure"] | undefined;
};

/** How far back costs are counted. */
const COST_SINCE = "1d";
/** So many tasks are looked up at once; agents beyond show ids only. */
const MOST_TASKS = 500;

/** Agents with what other resources say of them. */
export function useKnown(agents: Agent[] | undefined): Known[] {
  const ids = useMemo(() => (agents ?? []).flatMap((each) => each.tasks ?? []).slice(0, MOST_TASKS), [agents]);
  const tasks = useQuery({
    // Below /v1/tasks, so that events about tasks ask for it anew.
    queryKey: ["/v1/tasks/look-up", ids],
    queryFn: () => call(api.POST("/v1/tasks/look-up", { body: { ids } })),
    enabled: ids.length > 0,
    placeholderData: (before) => before,
  });
  const metrics = useMetrics({ by: "agent", since: COST_SINCE });
  const gates = useGates();
  return useMemo(() => {
    const byId = new Map((tasks.data ?? []).flatMap((task) => (task ? [[task.id, task] as const] : [])));
    const did = new Map((metrics.data ?? []).map((each) => [each.name, each]));
    const paused = new Map(
      (gates.data ?? []).filter((each) => each.kind === "pause" && each.agent).map((each) => [each.agent, each]),
    );
    return (agents ?? []).map((agent) => ({
      agent,
      tasks: (agent.tasks ?? []).flatMap((id) => byId.get(id) ?? []),
      did: did.get(agent.id),
      paused: paused.get(agent.id),
    }));
  }, [agents, tasks.data, metrics.data, gates.data]);
}
