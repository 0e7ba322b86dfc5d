/** The graph as it would be, drawn as the dag's own screen draws it. */
import { useEffect, useMemo, useRef, useState } from "react";
import { Board } from "../dag/board";
import { Graph } from "../dag/Graph";
import { drawn } from "../dag/model";
import type { Carded } from "../dag/Node";
import type { Draft } from "./document";
import styles from "./Submit.module.css";

const WAIT_MS = 300;
const DRAWN_AT_MOST = 1_000;

export function Preview({ draft }: { draft: Draft }) {
  const shown = useSettled(draft);
  const board = useRef(new Board<Carded>());
  const graph = useMemo(() => drawn(shown.tasks, shown.edges, new Set(), shown.criticalPath), [shown]);
  useEffect(() => {
    board.current.put(shown.tasks.map((task) => ({ ...task, type: task.type || "…", status: "pending" })));
  }, [shown]);
  const [selected, setSelected] = useState<string | null>(null);
  if (shown.tasks.length === 0) return <p className={styles.none}>Tasks appear here as they are written.</p>;
  if (shown.tasks.length > DRAWN_AT_MOST) return <p className={styles.none}>{shown.tasks.length} tasks are too many for a preview.</p>;
  return <Graph drawn={graph} board={board.current} label="Preview of the dag" selected={selected} onSelect={setSelected} />;
}

/** The last draft that could be read, once one has stopped typing: what is half written does not blank the picture. */
function useSettled(draft: Draft): Draft {
  const [settled, setSettled] = useState(draft);
  useEffect(() => {
    if (draft.tasks.length === 0 && draft.flaws.length > 0) return;
    const timer = setTimeout(() => setSettled(draft), WAIT_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  return settled;
}
