// What waits: depth, how long it had to, how much is done in a minute, who can serve it; paused in place.
import { Link } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { useMemo } from "react";
import { api, call, type Schemas, useAct, useGates, useLanes, useMay } from "../../api";
import {
  Ago,
  type Column,
  Count,
  cx,
  duration,
  Empty,
  IconButton,
  Loaded,
  plural,
  Section,
  Sparkline,
  Table,
  Text,
} from "../../ui";
import { written } from "../tasks/words";
import styles from "./Now.module.css";

type Lane = Schemas["Lane"];
type Row = { lane: Lane; paused: boolean };

const MINUTES = 60;

export function LanesNow() {
  const lanes = useLanes(MINUTES);
  const gates = useGates();
  const rows = useMemo(() => {
    const types = new Set(
      (gates.data ?? []).filter((gate) => gate.kind === "pause" && gate.type != null).map((gate) => gate.type),
    );
    return (lanes.data ?? [])
      .map((lane) => ({ lane, paused: types.has(lane.type) }))
      .sort((one, two) => two.lane.ready - one.lane.ready || one.lane.type.localeCompare(two.lane.type));
  }, [lanes.data, gates.data]);
  const columns = useColumns();
  return (
    <Section title="Lanes" flush aside={<Link to="/gates">gates and limits</Link>}>
      <Loaded of={lanes} height={120}>
        {() => (
          <Table
            label="Lanes"
            rows={rows}
            columns={columns}
            rowKey={(row) => String(row.lane.id)}
            rowHeight={44}
            height="420px"
            empty={
              <Empty title="Nothing waits, and nothing was done in the last hour">
                Add something: <code>dibs add research "What is CORS?"</code>
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}

function useColumns(): Column<Row>[] {
  const mayPause = useMay("POST /v1/pauses");
  return useMemo(
    () => [
      {
        id: "lane",
        header: "Lane",
        cell: ({ lane, paused }) => (
          <div className={styles.two}>
            <Link to="/tasks" search={{ q: `status:ready type:${written(lane.type)}` }} className="truncate">
              <bdi>{lane.type}</bdi>
              {paused && <span className={styles.paused}> paused</span>}
            </Link>
            <span className={cx("muted", styles.small)}>
              <Text lines={1}>{wants(lane)}</Text>
            </span>
          </div>
        ),
      },
      {
        id: "ready",
        header: "Ready",
        width: "76px",
        align: "end",
        cell: ({ lane }) => (
          <div className={styles.two}>
            <Count value={lane.ready} />
            <span className={cx("muted", styles.small)}>
              {lane.oldest_ready_at != null && <Ago at={lane.oldest_ready_at} />}
            </span>
          </div>
        ),
      },
      {
        id: "waits",
        header: "Wait p50 / p95",
        width: "120px",
        align: "end",
        from: 720,
        cell: ({ lane }) =>
          lane.wait_p50_s == null ? (
            <span className="muted">–</span>
          ) : (
            `${duration(lane.wait_p50_s)} / ${duration(lane.wait_p95_s ?? lane.wait_p50_s)}`
          ),
      },
      {
        id: "flow",
        header: "Done, last hour",
        width: "136px",
        from: 480,
        cell: ({ lane }) => {
          const values = lane.per_minute ?? [];
          const sum = values.reduce<number>((total, one) => total + (one ?? 0), 0);
          return values.length ? (
            <Sparkline values={values} width={108} label={`${plural(sum, "task")} completed in the last hour`} />
          ) : null;
        },
      },
      {
        id: "agents",
        header: "Served by",
        width: "92px",
        from: 1024,
        cell: ({ lane }) =>
          lane.agents == null ? null : lane.agents.length ? (
            <span title={lane.agents.slice(0, 30).join("\n")}>{plural(lane.agents.length, "agent")}</span>
          ) : (
            <span className={styles.nobody}>nobody</span>
          ),
      },
      ...(mayPause ? [{ id: "act", header: "", width: "44px", cell: (row: Row) => <PauseButton row={row} /> }] : []),
    ],
    [mayPause],
  );
}

function wants(lane: Lane): string {
  const parts = [
    lane.assignee ? `for ${lane.assignee}` : "",
    lane.requires.length ? `needs ${lane.requires.join(", ")}` : "",
    lane.models.length ? lane.models.join(", ") : "",
    lane.slots == null ? "" : `${lane.held ?? 0} of ${lane.slots} slots`,
  ];
  return parts.filter(Boolean).join(" · ") || "for anybody";
}

function PauseButton({ row: { lane, paused } }: { row: Row }) {
  const pause = () => call(api.POST("/v1/pauses", { body: { type: lane.type } }));
  const resume = () => call(api.POST("/v1/pauses/resume", { body: { type: lane.type } }));
  const stop = useAct(pause, { done: `Nothing more of ${lane.type} is handed out.`, undo: resume });
  const go = useAct(resume, { done: `${lane.type} is handed out again.`, undo: pause });
  const act = paused ? go : stop;
  return (
    <IconButton
      small
      label={paused ? `Resume ${lane.type}` : `Pause ${lane.type}`}
      icon={paused ? <Play /> : <Pause />}
      disabled={act.isPending}
      onClick={() => act.mutate()}
    />
  );
}
