import { useEffect, useRef, useState } from "react";
import type { Arranged } from "./layout";
import type { Answered, Asked } from "./layout.worker";
import { type Drawn, sameShape } from "./model";

/** A drawing with a place for every node and a way for every edge. */
export interface Laid extends Arranged {
  drawn: Drawn;
}

/** The drawing laid out, in a worker. `laid` is of an older drawing while the newest is worked on, null before the first;
 * `busy` says that it is. */
export function useLayout(drawn: Drawn | null): { laid: Laid | null; busy: boolean; failed: boolean } {
  const [laid, setLaid] = useState<Laid | null>(null);
  const [failed, setFailed] = useState(false);
  const [busy, setBusy] = useState(false);
  const worker = useRef<Worker | null>(null);
  const wanted = useRef<{ number: number; drawn: Drawn } | null>(null);

  useEffect(() => {
    const made = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    made.onmessage = ({ data }: MessageEvent<Answered>) => {
      if (wanted.current === null || data.number !== wanted.current.number) return;
      setBusy(false);
      setFailed(data.arranged === null);
      if (data.arranged) setLaid({ drawn: wanted.current.drawn, ...data.arranged });
    };
    made.onerror = () => {
      setBusy(false);
      setFailed(true);
    };
    worker.current = made;
    return () => {
      made.terminate();
      worker.current = null;
      wanted.current = null;
    };
  }, []);

  useEffect(() => {
    if (drawn === null) return;
    const last = wanted.current;
    if (last !== null && sameShape(last.drawn, drawn)) {
      last.drawn = drawn;
      setLaid((now) => (now && sameShape(now.drawn, drawn) ? { ...now, drawn } : now));
      return;
    }
    const asked: Asked = {
      number: (last?.number ?? 0) + 1,
      nodes: drawn.nodes.map((node) => node.id),
      edges: drawn.edges.map((edge) => [edge.id, edge.from, edge.to]),
    };
    wanted.current = { number: asked.number, drawn };
    setBusy(true);
    worker.current?.postMessage(asked);
  }, [drawn]);

  return { laid, busy, failed };
}
