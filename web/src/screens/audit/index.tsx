// The audit: what admins did, what was refused, and whether nobody changed a word of it since.
import { useInfiniteQuery } from "@tanstack/react-query";
import { FileClock, ShieldAlert, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { get, type Refused, type Schemas, useAbout, useAct, useMay } from "../../api";
import { useParam } from "../../shell/search";
import {
  Ago,
  Badge,
  Button,
  type Column,
  CopyButton,
  Empty,
  Field,
  Loaded,
  Notice,
  Page,
  plural,
  Section,
  Table,
  Text,
} from "../../ui";
import styles from "./audit.module.css";

type Entry = Schemas["AuditEntry"];
const AT_ONCE = 200;

export default function Audit() {
  const may = useMay("GET /v1/audit");
  const project = useAbout().data?.project;
  const [act, setAct] = useParam("act");
  const [by, setBy] = useParam("by");
  const pages = useEntries(may, act.trim(), by.trim());
  const entries = (pages.data?.pages ?? []).flatMap((page) => page.entries);
  if (!may) return <NotForYou />;
  return (
    <Page
      title="Audit"
      about="What was done to settings and tokens, by whom, and what was refused."
      actions={
        <div className={styles.filters}>
          <Field
            label="Act"
            hideLabel
            type="search"
            placeholder="Act, such as create_token"
            value={act}
            onChange={(event) => setAct(event.target.value)}
          />
          <Field
            label="By"
            hideLabel
            type="search"
            placeholder="By whom"
            value={by}
            onChange={(event) => setBy(event.target.value)}
          />
        </div>
      }
    >
      {project === "default" && <Verdict />}
      <Section flush>
        <Loaded of={pages} lines={6}>
          {() => (
            <Table
              label="Audit"
              rows={entries}
              columns={COLUMNS}
              rowKey={(row) => String(row.number)}
              empty={
                <Empty title={act || by ? "No entry fits" : "Nothing is written down yet"} icon={<FileClock />}>
                  What admins do, and everything that is refused, is written down here.
                </Empty>
              }
              foot={
                pages.hasNextPage && (
                  <Button small busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
                    Older entries
                  </Button>
                )
              }
            />
          )}
        </Loaded>
      </Section>
    </Page>
  );
}

type Portion = { entries: Entry[]; before: number };

/** Entries newest first. The API reads forward from a number, so older ones are asked for by where they begin. */
function useEntries(enabled: boolean, act: string, by: string) {
  const wanted = { ...(act ? { act } : {}), ...(by ? { by } : {}) };
  const read = (span: { after?: number; limit: number }, signal: AbortSignal) =>
    get("/v1/audit", { params: { query: { ...wanted, ...span } } }, signal);
  return useInfiniteQuery<Portion, Refused, { pages: Portion[] }, readonly unknown[], number | null>({
    queryKey: ["/v1/audit", wanted],
    queryFn: async ({ pageParam, signal }) => {
      if (pageParam === null) {
        const newest = await read({ limit: AT_ONCE }, signal);
        const isAll = newest.length < AT_ONCE;
        return { entries: newest.reverse(), before: isAll ? 0 : (newest.at(-1)?.number ?? 0) };
      }
      let before = pageParam;
      for (;;) {
        const after = Math.max(0, before - 1 - AT_ONCE);
        // What fits is counted, not what was looked at: some may lie beyond, where it is shown already.
        const found = (await read({ after, limit: AT_ONCE }, signal)).filter((each) => each.number < before).reverse();
        before = found.at(-1)?.number ?? after + 1;
        if (found.length > 0 || before <= 1) return { entries: found, before: before <= 1 ? 0 : before };
      }
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.before || undefined,
    enabled,
  });
}

/** Whether the chain holds: asked for, since all of it is read. */
function Verdict() {
  const [noted, setNoted] = useState("");
  const check = useAct(
    () => get("/v1/audit/verdict", { params: { query: noted.trim() ? { noted: noted.trim() } : {} } }),
    { quiet: true, changes: [] },
  );
  const found = check.data;
  return (
    <Section title="Is it whole?">
      <form
        className={styles.verify}
        onSubmit={(event) => {
          event.preventDefault();
          check.mutate();
        }}
      >
        <Field
          label="Noted before"
          hideLabel
          placeholder="number:digest that you noted elsewhere (optional)"
          value={noted}
          onChange={(event) => setNoted(event.target.value)}
          error={check.error?.message}
        />
        <Button type="submit" busy={check.isPending}>
          Verify the chain
        </Button>
      </form>
      {found && (
        <div className={styles.verdict}>
          <Notice tone={found.sound ? "green" : "red"}>
            <span className={styles.said}>
              {found.sound ? <ShieldCheck aria-hidden /> : <ShieldAlert aria-hidden />}
              {found.sound
                ? `Sound: ${plural(found.checked ?? 0, "entry", "entries")} checked${found.pruned ? `, those up to ${found.pruned} were dropped on purpose` : ""}.`
                : `Not sound: ${plural(found.faults?.length ?? 0, "fault")}.`}
            </span>
          </Notice>
          {(found.faults ?? []).slice(0, 20).map((fault) => (
            <p key={fault.number}>
              <b>Entry {fault.number}:</b> <Text>{fault.detail}</Text>
            </p>
          ))}
          {found.head && (
            <p className={styles.head}>
              <span className="muted">Note this elsewhere:</span>{" "}
              <code className={styles.digest}>
                {found.number}:{found.head}
              </code>
              <CopyButton text={`${found.number}:${found.head}`} label="Copy number and digest" />
            </p>
          )}
        </div>
      )}
    </Section>
  );
}

function NotForYou() {
  return (
    <Page title="Audit">
      <Section>
        <Empty title="The audit is for admins" icon={<FileClock />}>
          Log in with a token of an admin to read it.
        </Empty>
      </Section>
    </Page>
  );
}

const COLUMNS: Column<Entry>[] = [
  { id: "number", header: "#", width: "64px", align: "end", from: 480, cell: (row) => row.number },
  { id: "at", header: "When", width: "84px", cell: (row) => <Ago at={row.at} /> },
  { id: "by", header: "Who", cell: (row) => <Text lines={1}>{row.by ?? "unknown"}</Text> },
  { id: "act", header: "Act", cell: (row) => <span className={styles.act}>{row.act}</span> },
  { id: "target", header: "On what", from: 720, cell: (row) => <Text lines={1}>{row.target}</Text> },
  { id: "project", header: "Project", width: "12%", from: 1024, cell: (row) => <Text lines={1}>{row.project}</Text> },
  {
    id: "outcome",
    header: "Outcome",
    width: "112px",
    cell: (row) => (
      <>
        {row.outcome === "done" ? <Badge tone="green">done</Badge> : <Badge tone="red">{row.outcome}</Badge>}
        {(row.count ?? 1) > 1 && <span className="muted"> × {row.count}</span>}
      </>
    ),
  },
];
