// The way to a task: its title if there is one, else its id.
import { Link } from "@tanstack/react-router";

type Named = { id: string; title?: string | null };

/** `<TaskLink task={task} />`, or by its id alone. Long ids are shown by their end, which is what tells them apart. */
export function TaskLink({ task }: { task: Named | string }) {
  const { id, title } = typeof task === "string" ? { id: task, title: null } : task;
  return (
    <Link to="/tasks/$id" params={{ id }} title={id} className={title ? undefined : "mono"}>
      <bdi>{title || shortId(id)}</bdi>
    </Link>
  );
}

function shortId(id: string): string {
  return id.length > 16 ? `…${id.slice(-10)}` : id;
}
