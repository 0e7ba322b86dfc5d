// All dags, the newest first.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { SquarePlus, Workflow } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { get, type Refused, type Schemas, useMay } from "../../api";
import { useParam } from "../../shell/search";
import { Ago, type Column, Count, Duration, Empty, Failed, Field, lookOf, Money, Page, Section, Select, Skeleton, StatusBadge, Table, Text } from "../../ui";
import styles from "./Dags.module.css";

type Dag = Schemas["Dag"];
type Page_ = Schemas["DagPage"];

const STATUSES = [
  { value: "", label: "any" },
  { value: "running", label: "running" },
  { value: "pending", label: "pending" },
  { value: "failed", label: "failed" },
  { value: "completed", label: "completed" },
  { value: "cancelled", label: "cancelled" },
];
const WAIT_MS = 300;
const ORDER = ["completed", "running", "claimed", "validating", "waiting", "ready", "retrying", "scheduled", "pending", "dead_lettered", "cancelled"];

function useDags(status: string, text: string) {
  return useInfiniteQuery<Page_, Refused, { pages: Page_[] }, readonly unknown[], string | null>({
    queryKey: ["/v1/dags", { status, text }],
    queryFn: ({ pageParam, signal }) =>
      get(
        "/v1/dags",
        { params: { query: { limit: 50, ...(status ? { status: [status] } : {}), ...(text ? { text } : {}), ...(pageParam ? { cursor: pageParam } : {}) } } },
        signal,
      ),
    initialPageParam: null,
    getNextPageParam: (last) => last.cursor ?? null,
    placeholderData: (before) => before,
  });
}

export default function DagsScreen() {
  const [status, setStatus] = useParam("status");
  const [text, setText] = useParam("text");
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => setText(typed), WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, text, setText]);
  const navigate = useNavigate();
  const may = useMay("POST /v1/dags");
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useDags(status, text);
  const dags = useMemo(() => data?.pages.flatMap((page) => page.items ?? []) ?? [], [data]);
  const filtered = status !== "" || text !== "";

  // A page may be short, or empty, and still go on.
  useEffect(() => {
    if (dags.length === 0 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [dags.length, hasNextPage, isFetchingNextPage, fetchNextPage]);

  return (
    <Page
      full
      title="Dags"
      about="Tasks that belong together."
      actions={
        may && (
          <Link to="/submit" className={styles.submit}>
            <SquarePlus aria-hidden /> Submit a dag
          </Link>
        )
      }
    >
      <search className={styles.filters}>
        <Field label="Title" value={typed} placeholder="any" data-search onChange={(event) => setTyped(event.target.value)} />
        <Select label="Status" value={status} choices={STATUSES} onChange={(event) => setStatus(event.target.value)} />
      </search>
      {error && !data ? (
        <Failed error={error} again={() => void refetch()} />
      ) : !data ? (
        <Skeleton lines={8} />
      ) : (
        <Section flush>
          <Table
            label="Dags"
            rows={dags}
            rowKey={(dag) => dag.id}
            columns={COLUMNS}
            height="calc(100dvh - 220px)"
            rowHeight={44}
            onOpen={(dag) => void navigate({ to: "/dags/$id", params: { id: dag.id } })}
            onEnd={() => hasNextPage && !isFetchingNextPage && void fetchNextPage()}
            foot={isFetchingNextPage ? "Loading more …" : undefined}
            empty={
              <Empty title={filtered ? "No dag fits" : "No dags yet"} icon={<Workflow />}>
                {filtered ? "Try another word, or any status." : "Submit one here, with dibs dag submit FILE.yaml, or with queue.add_dag(…)."}
              </Empty>
            }
          />
        </Section>
      )}
    </Page>
  );
}

const COLUMNS: Column<Dag>[] = [
  { id: "status", header: "Status", width: "112px", cell: (dag) => <StatusBadge status={dag.status ?? "pending"} /> },
  {
    id: "title",
    header: "Title",
    cell: (dag) => (
      <Link to="/dags/$id" params={{ id: dag.id }} className={styles.title}>
        <Text lines={1}>{dag.title || dag.id}</Text>
      </Link>
    ),
  },
  { id: "tasks", header: "Tasks", width: "22%", from: 720, cell: (dag) => <Standing counts={dag.counts ?? {}} /> },
  { id: "cost", header: "Cost", width: "88px", align: "end", from: 480, cell: (dag) => <Money usd={dag.cost_usd ?? null} /> },
  { id: "took", header: "Took", width: "96px", align: "end", from: 720, cell: (dag) => (dag.started_at ? <Duration from={dag.started_at} to={dag.ended_at ?? null} /> : <span className="muted">–</span>) },
  { id: "added", header: "Added", width: "88px", align: "end", cell: (dag) => <Ago at={dag.created_at ?? null} /> },
];

/** How many tasks are where: a bar, and in words how many are done. */
function Standing({ counts }: { counts: Record<string, number> }) {
  const present = ORDER.filter((status) => (counts[status] ?? 0) > 0);
  const all = present.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  const words = present.map((status) => `${counts[status]} ${lookOf(status).text}`).join(", ");
  return (
    <span className={styles.standing} title={words}>
      <span className={styles.stack} aria-hidden>
        {present.map((status) => (
          <i key={status} style={{ flexGrow: counts[status] ?? 0, background: `var(--${lookOf(status).tone})` }} />
        ))}
      </span>
      <span>
        <Count value={counts.completed ?? 0} />
        <span className="muted">
          /<Count value={all} />
        </span>
        <span className="visually-hidden"> completed: {words}</span>
      </span>
    </span>
  );
}
