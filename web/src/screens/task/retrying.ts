/** Another life for a task that ended badly. About a dead letter that is a decision, and recorded as one. */
import { api, call, type Schemas } from "../../api";

export interface Wanted {
  /** Another payload, if it is there at all. */
  payload?: unknown;
  keepSteps: boolean;
  note: string;
}

/** It lives again, by the will of `by`. */
export function live(task: Schemas["Task"], by: string, { keepSteps, note, ...rest }: Wanted): Promise<unknown> {
  const task_id = task.id;
  const isModified = "payload" in rest;
  const body = { keep_steps: keepSteps, ...(isModified ? { payload: rest.payload } : {}) };
  if (task.status !== "dead_lettered")
    return call(api.POST("/v1/tasks/{task_id}/retry", { params: { path: { task_id } }, body }));
  return call(
    api.POST("/v1/dead-letters/{task_id}/review", {
      params: { path: { task_id } },
      body: { ...body, resolution: isModified ? "retried_modified" : "retried", by, note: note || null },
    }),
  );
}
