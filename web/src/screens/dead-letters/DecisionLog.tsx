// Who decided what about which dead letter, when and why.
import { Download, Gavel } from "lucide-react";
import { Ago, Button, type Column, Empty, Loaded, Section, serverNow, Table, TaskLink, Text } from "../../ui";
import styles from "./dead-letters.module.css";
import { type Decision, useDecisions } from "./decisions";
import { report } from "./markdown";
import { Resolved } from "./Resolved";

export function DecisionLog() {
  const pages = useDecisions();
  const decisions = (pages.data?.pages ?? []).flatMap((page) => page.decisions);
  return (
    <Section
      title="Decisions"
      flush
      aside={
        decisions.length > 0 && (
          <Button small icon={<Download />} onClick={() => download(decisions)}>
            Export as Markdown
          </Button>
        )
      }
    >
      <Loaded of={pages} lines={5}>
        {() => (
          <Table
            label="Decisions"
            rows={decisions}
            columns={COLUMNS}
            rowKey={(row) => String(row.seq)}
            empty={
              <Empty title="Nothing was decided yet" icon={<Gavel />}>
                What is decided about dead letters, here or in the shell, is written down with who and why.
              </Empty>
            }
            foot={
              pages.hasNextPage && (
                <Button small busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
                  Older decisions
                </Button>
              )
            }
          />
        )}
      </Loaded>
    </Section>
  );
}

function download(decisions: readonly Decision[]): void {
  const now = new Date(serverNow());
  const url = URL.createObjectURL(new Blob([report(decisions, now)], { type: "text/markdown" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `dlq-review-${now.toISOString().slice(0, 10)}.md`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const COLUMNS: Column<Decision>[] = [
  { id: "at", header: "When", width: "80px", cell: (row) => <Ago at={row.at} /> },
  { id: "by", header: "Who", cell: (row) => <Text lines={1}>{row.by}</Text> },
  { id: "what", header: "Decision", width: "138px", cell: (row) => <Resolved resolution={row.resolution} /> },
  {
    id: "task",
    header: "Task",
    width: "24%",
    from: 480,
    cell: (row) => (
      <span className={styles.taskCell}>
        <TaskLink task={{ id: row.taskId, title: row.title }} />
        {row.type && <span className="muted"> {row.type}</span>}
      </span>
    ),
  },
  { id: "to", header: "To", width: "14%", from: 1024, cell: (row) => <Text lines={1}>{row.to}</Text> },
  { id: "note", header: "Note", from: 720, cell: (row) => <Text lines={1}>{row.note}</Text> },
];
