// What it costs: by day, type, agent, model and dag.
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useGet } from "../../api";
import { useParam } from "../../shell/search";
import { AtLeast, type Column, Count, Empty, Failed, Loaded, money, Page, plural, Section, Select, serverNow, Table, Text } from "../../ui";
import { Chart, COLOURS } from "./Chart";
import styles from "./Cost.module.css";
import { dayOf, daysBetween, type Layer, type Measure, type Spent, type Stacked, stacked, type Total, totals } from "./stack";

const RANGES = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
];
const BY = [
  { value: "type", label: "type" },
  { value: "agent", label: "agent" },
  { value: "model", label: "model" },
  { value: "dag", label: "dag" },
  { value: "day", label: "day" },
];
const MEASURES = [
  { value: "usd", label: "USD" },
  { value: "tokens", label: "tokens" },
];
const DAY_MS = 86_400_000;

export default function CostScreen() {
  const [by, setBy] = useParam("by", "type");
  const [range, setRange] = useParam("days", "7");
  const [measure, setMeasure] = useParam("in", "usd");
  const days = Math.min(365, Math.max(1, Number.parseInt(range, 10) || 7));
  const grouped = BY.some(({ value }) => value === by) ? by : "type";
  const costs = useGet(
    "/v1/costs",
    { params: { query: { by: grouped === "day" ? "type" : grouped, since: (days - 1) * 86_400 } } },
    { keep: true, every: 30_000 },
  );
  return (
    <Page
      title="Cost"
      about="What attempts used that ended, by day (UTC), as far back as they are kept. What nobody has a price for comes on top."
      actions={
        <div className={styles.choices}>
          <Select label="By" value={grouped} choices={BY} onChange={(event) => setBy(event.target.value)} />
          <Select label="In" value={measure} choices={MEASURES} onChange={(event) => setMeasure(event.target.value)} />
          <Select label="Over" value={String(days)} choices={RANGES} onChange={(event) => setRange(event.target.value)} />
        </div>
      }
    >
      {costs.error && costs.data === undefined ? (
        <Failed error={costs.error} again={() => void costs.refetch()} />
      ) : (
        <Loaded of={costs} height={320}>
          {(rows) => <Shown rows={rows} by={grouped} days={days} measure={measure === "tokens" ? "tokens" : "usd"} />}
        </Loaded>
      )}
    </Page>
  );
}

function Shown({ rows, by, days, measure }: { rows: readonly Spent[]; by: string; days: number; measure: Measure }) {
  const today = Math.floor(serverNow() / DAY_MS) * DAY_MS;
  const graph = useMemo(() => {
    const named = by === "day" ? rows.map((row) => ({ ...row, name: "all" })) : rows;
    return stacked(named, daysBetween(today - (days - 1) * DAY_MS, today), measure);
  }, [rows, by, days, measure, today]);
  const sums = useMemo(() => {
    const found = totals(rows, by === "day" ? dayOf : undefined);
    return by === "day" ? found.sort((one, other) => ((one.name ?? "") < (other.name ?? "") ? 1 : -1)) : found;
  }, [rows, by]);
  const [all] = useMemo(() => totals(rows, () => "all"), [rows]);
  const titles = useTitles(by === "dag");
  const [day, setDay] = useState<number | null>(null);
  if (!all) {
    return (
      <Empty title="Nothing was spent in this time">
        Agents say what an attempt cost when they complete it: <code>dibs complete ID --fence N --cost 0.03</code>, or how many tokens it took.
      </Empty>
    );
  }
  const name = (of: string | null) => nameIn(by, of, titles);
  return (
    <>
      <dl className={styles.sums}>
        <div>
          <dt>Spent</dt>
          <dd>
            <AtLeast usd={all.usd} unpriced={all.unpriced} />
          </dd>
        </div>
        <div>
          <dt>A day</dt>
          <dd>{money(all.usd / days)}</dd>
        </div>
        <div>
          <dt>Attempts</dt>
          <dd>
            <Count value={all.attempts} />
          </dd>
        </div>
        <div>
          <dt>Tokens in, out</dt>
          <dd>
            <Count value={all.tokensIn} />, <Count value={all.tokensOut} />
          </dd>
        </div>
      </dl>
      <div className={styles.panes}>
        <Section title={measure === "usd" ? "USD by day" : "Tokens by day"}>
          <Chart of={graph} measure={measure} label={`${measure === "usd" ? "USD" : "Tokens"} by day and ${by}; the table has the numbers`} onDay={setDay} />
          <OfDay graph={graph} day={day} measure={measure} name={name} />
        </Section>
        <Section title={by === "day" ? "Days" : `By ${by}`} flush>
          <Table
            label={`Cost by ${by}`}
            rows={sums}
            rowKey={(sum) => sum.name ?? ""}
            columns={columnsOf(by, graph, measure, titles)}
            height="min(420px, 70vh)"
            sortedBy={by === "day" ? { id: "name", desc: true } : { id: "cost", desc: true }}
          />
        </Section>
      </div>
    </>
  );
}

/** Dags are known by their titles. */
function useTitles(on: boolean): ReadonlyMap<string, string> {
  const { data } = useGet("/v1/dags", { params: { query: { limit: 500 } } }, { enabled: on, fresh: 30_000 });
  return useMemo(() => new Map((data?.items ?? []).flatMap((dag) => (dag.title ? [[dag.id, dag.title] as const] : []))), [data]);
}

function nameIn(by: string, name: string | null, titles: ReadonlyMap<string, string>): string {
  if (name !== null) return titles.get(name) ?? name;
  if (by === "model") return "no model named";
  return by === "dag" ? "tasks on their own" : "none";
}

function columnsOf(by: string, graph: Stacked, measure: Measure, titles: ReadonlyMap<string, string>): Column<Total>[] {
  const colour = (name: string | null): string | undefined => {
    const place = graph.layers.findIndex((layer) => layer.names === 1 && layer.name === name);
    if (place >= 0) return COLOURS[place % COLOURS.length];
    return graph.layers.some((layer) => layer.names > 1) ? COLOURS[(graph.layers.length - 1) % COLOURS.length] : undefined;
  };
  const columns: Column<Total>[] = [
    {
      id: "name",
      header: by[0]?.toUpperCase() + by.slice(1),
      sort: (sum) => (by === "day" ? sum.name : nameIn(by, sum.name, titles)),
      cell: (sum) => (
        <span className={styles.name}>
          {by !== "day" && <i style={{ background: `var(${colour(sum.name) ?? "--line"})` }} aria-hidden />}
          {by === "dag" && sum.name ? (
            <Link to="/dags/$id" params={{ id: sum.name }} className="truncate">
              <bdi>{nameIn(by, sum.name, titles)}</bdi>
            </Link>
          ) : (
            <Text lines={1}>{nameIn(by, sum.name, titles)}</Text>
          )}
        </span>
      ),
    },
    { id: "cost", header: "Cost", width: "172px", align: "end", sort: (sum) => sum.usd, cell: (sum) => <AtLeast usd={sum.usd} unpriced={sum.unpriced} /> },
    { id: "attempts", header: "Attempts", width: "84px", align: "end", from: 480, sort: (sum) => sum.attempts, cell: (sum) => <Count value={sum.attempts} /> },
  ];
  const tokens: Column<Total> = {
    id: "tokens",
    header: "Tokens",
    width: "84px",
    align: "end",
    from: 1024,
    sort: (sum) => sum.tokensIn + sum.tokensOut,
    cell: (sum) => <Count value={sum.tokensIn + sum.tokensOut} />,
  };
  return measure === "tokens" ? [...columns.slice(0, 2), tokens] : [...columns, tokens];
}

/** What a column of the chart is made of, in words: of the day under the pointer, else of the last. */
function OfDay({ graph, day, measure, name }: { graph: Stacked; day: number | null; measure: Measure; name: (of: string | null) => string }) {
  const at = day ?? graph.days.length - 1;
  const shown = (value: number) => (measure === "usd" ? money(value) : value.toLocaleString("en-US"));
  const parts = graph.layers.filter((layer) => (layer.values[at] ?? 0) > 0);
  const sum = parts.reduce((before, layer) => before + (layer.values[at] ?? 0), 0);
  return (
    <p className={styles.ofDay}>
      <strong>{new Date(graph.days[at] ?? 0).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })}</strong> {shown(sum)}
      {parts.map((layer) => (
        <span key={`${layer.names}${layer.name}`} className={styles.part}>
          <i style={{ background: `var(${COLOURS[graph.layers.indexOf(layer) % COLOURS.length]})` }} aria-hidden />
          <bdi className="truncate">{partName(layer, name)}</bdi> {shown(layer.values[at] ?? 0)}
        </span>
      ))}
    </p>
  );
}

const partName = (layer: Layer, name: (of: string | null) => string): string =>
  layer.names > 1 ? plural(layer.names, "other") : name(layer.name);
