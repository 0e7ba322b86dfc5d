// One action on all that is selected: first how many that are, then how it goes, then what was refused.
import { useEffect, useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api, call, refresh, useGet } from "../../api";
import { Button, Dialog, Field, plural, Skeleton, Text } from "../../ui";
import { TaskLink } from "../task/links";
import { NOTHING, overFilter, overIds, type Slice, type Tally } from "./tally";
import styles from "./Tasks.module.css";

export type Verb = "retry" | "cancel" | "priority" | "tags";

/** What is selected: these, or all that fit the query. */
export type Selection = { ids: ReadonlySet<string> } | { query: string };

/** So many are done in one go; between two of them it can be stopped. */
const SLICE = 200;

interface Wanted {
  reason: string;
  priority: number;
  add: string[];
  remove: string[];
}

const TITLES: Record<Verb, string> = { retry: "Retry", cancel: "Cancel", priority: "Change priority of", tags: "Tag" };
const ABOUT: Record<Verb, string> = {
  retry: "Dead letters and cancelled tasks get a new life; for the others it is refused.",
  cancel: "What depends on them and what they spawned ends, too. Tasks that have ended are left as they are.",
  priority: "For tasks that have ended it is refused.",
  tags: "Tags are added and taken away; nothing else changes.",
};

export function Bulk({ verb, selection, onClose }: { verb: Verb; selection: Selection; onClose: () => void }) {
  const client = useQueryClient();
  const all = "query" in selection;
  const counted = useGet(
    "/v1/found/count",
    { params: { query: { query: all ? selection.query : "" } } },
    { enabled: all, fresh: 0 },
  );
  const count = all ? (counted.data?.count ?? null) : selection.ids.size;
  const about =
    all && counted.data?.more
      ? `more than ${plural(count ?? 0, "task")}`
      : count === null
        ? "…"
        : plural(count, "task");
  const [reason, setReason] = useState("");
  const [priority, setPriority] = useState("50");
  const [add, setAdd] = useState("");
  const [remove, setRemove] = useState("");
  const [tally, setTally] = useState<Tally | null>(null);
  const life = useRef(new AbortController());
  useEffect(() => {
    const mine = new AbortController();
    life.current = mine;
    return () => mine.abort();
  }, []);

  const wanted: Wanted = {
    reason: reason.trim(),
    priority: Number(priority),
    add: tagsOf(add),
    remove: tagsOf(remove),
  };
  const fits =
    verb === "priority"
      ? priority.trim() !== "" && wanted.priority >= 0 && wanted.priority <= 100
      : verb !== "tags" || wanted.add.length + wanted.remove.length > 0;
  const run = async () => {
    setTally(NOTHING);
    const { signal } = life.current;
    if (all) await overFilter((cursor) => slice(verb, selection.query, cursor, wanted), setTally, signal);
    else await overIds([...selection.ids], (id) => one(verb, id, wanted), setTally, signal);
    void refresh(client, "/v1");
  };
  const running = tally !== null && !tally.over;
  const handled = tally === null ? 0 : tally.done + tally.left + tally.refused;
  return (
    <Dialog
      open
      onClose={() => {
        life.current.abort();
        onClose();
      }}
      title={`${TITLES[verb]} ${about}${tally === null ? "?" : ""}`}
      about={ABOUT[verb]}
      actions={
        tally === null ? (
          <>
            <Button onClick={onClose}>Back</Button>
            <Button
              look={verb === "cancel" ? "danger" : "primary"}
              disabled={!fits || !count}
              onClick={() => void run()}
            >
              {TITLES[verb].split(" ")[0]} {about}
            </Button>
          </>
        ) : running ? (
          <Button onClick={() => life.current.abort()}>Stop here</Button>
        ) : (
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        )
      }
    >
      {tally === null ? (
        <div className={styles.form}>
          {all && (
            <p>
              {selection.query ? (
                <>
                  All that fit <code>{selection.query}</code>
                </>
              ) : (
                "There is no filter: these are all tasks."
              )}
            </p>
          )}
          {all && counted.isPending && <Skeleton lines={1} />}
          {verb === "cancel" && (
            <Field
              label="Reason (optional)"
              value={reason}
              maxLength={1000}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
          {verb === "priority" && (
            <Field
              label="Priority"
              inputMode="decimal"
              value={priority}
              onChange={(event) => setPriority(event.target.value)}
              about="0 is now, 100 is whenever there is nothing else."
              error={fits ? undefined : "Write a number from 0 to 100."}
            />
          )}
          {verb === "tags" && (
            <>
              <Field
                label="Tags to add"
                value={add}
                onChange={(event) => setAdd(event.target.value)}
                about="Several: with commas between."
              />
              <Field label="Tags to take away" value={remove} onChange={(event) => setRemove(event.target.value)} />
            </>
          )}
        </div>
      ) : (
        <div className={styles.form} aria-live="polite">
          <progress
            className={styles.progress}
            aria-label="Progress"
            max={Math.max(count ?? 0, handled, 1)}
            value={tally.over && tally.fault === null ? Math.max(count ?? 0, handled, 1) : handled}
          />
          <p>
            <strong>{tally.done.toLocaleString("en-US")}</strong> done
            {tally.left > 0 && `, ${tally.left.toLocaleString("en-US")} left as they are`}
            {tally.refused > 0 && `, ${tally.refused.toLocaleString("en-US")} refused`}
            {tally.over && life.current.signal.aborted && "; stopped"}
          </p>
          {tally.fault !== null && <p className={styles.fault}>{tally.fault}</p>}
          {tally.refusals.length > 0 && (
            <ul className={styles.refusals} aria-label="Refused">
              {tally.refusals.map((refusal) => (
                <li key={refusal.task_id}>
                  <TaskLink id={refusal.task_id} />
                  <Text>{refusal.message}</Text>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Dialog>
  );
}

function tagsOf(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");
}

/** One slice of all that fit. */
function slice(verb: Verb, query: string, cursor: string | null, wanted: Wanted): Promise<Slice> {
  const of = { query, cursor, limit: SLICE };
  if (verb === "retry") return call(api.POST("/v1/found/retry", { body: of }));
  if (verb === "cancel") return call(api.POST("/v1/found/cancel", { body: { ...of, reason: wanted.reason || null } }));
  if (verb === "priority") return call(api.POST("/v1/found/priority", { body: { ...of, priority: wanted.priority } }));
  return call(api.POST("/v1/found/tags", { body: { ...of, add: wanted.add, remove: wanted.remove } }));
}

/** One task. */
function one(verb: Verb, id: string, wanted: Wanted): Promise<unknown> {
  const params = { path: { task_id: id } };
  if (verb === "retry") return call(api.POST("/v1/tasks/{task_id}/retry", { params, body: {} }));
  if (verb === "cancel") {
    return call(
      api.POST("/v1/tasks/{target}/cancel", {
        params: { path: { target: id } },
        body: { reason: wanted.reason || null },
      }),
    );
  }
  if (verb === "priority")
    return call(api.PUT("/v1/tasks/{task_id}/priority", { params, body: { priority: wanted.priority } }));
  return call(api.POST("/v1/tasks/{task_id}/tags", { params, body: { add: wanted.add, remove: wanted.remove } }));
}
