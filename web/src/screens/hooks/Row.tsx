import { useState } from "react";
import { api, call, type Schemas, useAct, useGet } from "../../api";
import {
  Ago,
  Badge,
  Button,
  type Column,
  Duration,
  Empty,
  Field,
  FormDialog,
  Loaded,
  plural,
  RowActions,
  Select,
  Table,
  Text,
  type Tone,
  wrong,
} from "../../ui";
import styles from "../../ui/Rows.module.css";
import type { Hook } from ".";

const PATH = "/v1/hooks";
const STATUS: Record<string, Tone> = { active: "green", paused: "amber", failing: "orange", disabled: "red" };

type RowProps = { hook: Hook; onEdit: () => void; onSecret: (hook: Hook) => void };

export function Row({ hook, onEdit, onSecret }: RowProps) {
  const [open, setOpen] = useState(false);
  const status = hook.status ?? "active";
  return (
    <li className={styles.row} data-hook={hook.name}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{hook.name}</strong>
          <Badge tone={STATUS[status] ?? "gray"}>{status}</Badge>
          <Badge>{hook.kind}</Badge>
          <span className="mono">
            <Text>{hook.url}</Text>
          </span>
        </div>
        <div className={styles.facts}>
          <span className="mono">
            <Text lines={2}>{hook.events.join(", ")}</Text>
          </span>
          {(["task", "dag", "agent"] as const).map(
            (key) =>
              hook[key] && (
                <span key={key}>
                  only of {key} <Text>{hook[key]}</Text>
                </span>
              ),
          )}
          <span>told up to event {(hook.seq ?? 0).toLocaleString("en-US")}</span>
          {hook.failing_since && (
            <span>
              failing since <Ago at={hook.failing_since} />, {plural(hook.attempts ?? 0, "try", "tries")}
            </span>
          )}
          {hook.next_at && (
            <span>
              next try <Ago at={hook.next_at} />
            </span>
          )}
          {hook.disabled_at && (
            <span>
              given up <Ago at={hook.disabled_at} />
            </span>
          )}
          {hook.old_secret_until && (
            <span>
              the old secret signs too, until <Ago at={hook.old_secret_until} />
            </span>
          )}
          {hook.error && (
            <span className={styles.problem}>
              <Text lines={2}>{hook.error}</Text>
            </span>
          )}
        </div>
        <div className={styles.facts}>
          <button type="button" className={styles.quiet} aria-expanded={open} onClick={() => setOpen(!open)}>
            deliveries
          </button>
        </div>
      </div>
      <Changing hook={hook} onEdit={onEdit} onSecret={onSecret} onTested={() => setOpen(true)} />
      {open && (
        <div className={styles.more}>
          <Deliveries name={hook.name} />
        </div>
      )}
    </li>
  );
}

function Deliveries({ name }: { name: string }) {
  const tries = useGet("/v1/hooks/{name}/deliveries", { params: { path: { name } } }, { every: 2_000 });
  return (
    <Loaded of={tries} lines={2}>
      {(all) => (
        <Table
          label={`Deliveries of ${name}`}
          rows={all}
          columns={COLUMNS}
          rowKey={(row) => `${row.id} ${row.attempt} ${row.at}`}
          empty={<Empty title="Nothing was sent yet">Test it, or wait for an event that it wants.</Empty>}
        />
      )}
    </Loaded>
  );
}

const OUTCOMES: Record<string, Tone> = { delivered: "green", failed: "orange", refused: "red" };
const COLUMNS: Column<Schemas["Delivery"]>[] = [
  { id: "at", header: "When", width: "84px", cell: (row) => <Ago at={row.at} /> },
  { id: "type", header: "Event", width: "26%", cell: (row) => <Text lines={1}>{row.type}</Text> },
  { id: "seq", header: "Number", width: "80px", align: "end", from: 720, cell: (row) => row.seq },
  {
    id: "outcome",
    header: "Outcome",
    width: "104px",
    cell: (row) => <Badge tone={OUTCOMES[row.outcome] ?? "gray"}>{row.outcome}</Badge>,
  },
  { id: "code", header: "Code", width: "60px", align: "end", from: 480, cell: (row) => row.code ?? "–" },
  { id: "try", header: "Try", width: "50px", align: "end", from: 720, cell: (row) => row.attempt },
  {
    id: "took",
    header: "Took",
    width: "76px",
    align: "end",
    from: 1024,
    cell: (row) => <Duration seconds={row.took_s} />,
  },
  { id: "error", header: "Error", from: 720, cell: (row) => <Text lines={1}>{row.error}</Text> },
];

function Changing({ hook, onEdit, onSecret, onTested }: RowProps & { onTested: () => void }) {
  const [asking, setAsking] = useState<"replay" | "rotate" | null>(null);
  const { name } = hook;
  const path = { params: { path: { name } } };
  const test = useAct(() => call(api.POST("/v1/hooks/{name}/test", path)), {
    done: `A test message is on its way to ${name}.`,
    changes: [PATH],
    onDone: onTested,
  });
  return (
    <>
      <RowActions
        list={PATH}
        kind="hook"
        name={name}
        paused={hook.status === "paused" || hook.status === "disabled"}
        turn={(on) =>
          on ? call(api.POST("/v1/hooks/{name}/pause", path)) : call(api.POST("/v1/hooks/{name}/resume", path))
        }
        shown={(paused) => ({ status: paused ? "paused" : "active" })}
        told={{ paused: `Nothing more is sent to ${name}.`, resumed: `${name} goes on where it stopped.` }}
        remove={() => call(api.DELETE("/v1/hooks/{name}", path))}
        removed="Nothing more is sent, and its secret is forgotten."
        items={[
          { label: "Edit…", onSelect: onEdit },
          { label: "Replay…", onSelect: () => setAsking("replay") },
          { label: "New secret…", disabled: hook.kind !== "cloudevents", onSelect: () => setAsking("rotate") },
        ]}
      >
        <Button small busy={test.isPending} onClick={() => test.mutate()} aria-label={`Test ${name}`}>
          Test
        </Button>
      </RowActions>
      {asking === "replay" && <Replay hook={hook} onClose={() => setAsking(null)} />}
      {asking === "rotate" && <Rotate name={name} onClose={() => setAsking(null)} onSecret={onSecret} />}
    </>
  );
}

function Replay({ hook, onClose }: { hook: Hook; onClose: () => void }) {
  const { name } = hook;
  const [after, setAfter] = useState(String(Math.max(0, (hook.seq ?? 0) - 100)));
  const replay = useAct(
    () => call(api.POST("/v1/hooks/{name}/replay", { params: { path: { name } }, body: { after: Number(after) } })),
    {
      quiet: true,
      done: `Everything after event ${after} is sent to ${name} once more.`,
      changes: [PATH],
      onDone: onClose,
    },
  );
  return (
    <FormDialog
      title={`Replay to ${name}`}
      about="Everything it wants after an event is sent once more, under the ids it had."
      action="Replay"
      onClose={onClose}
      onSubmit={() => replay.mutate()}
      busy={replay.isPending}
      disabled={!/^\d+$/.test(after.trim())}
      error={replay.error}
      fields={["after"]}
    >
      <Field
        label="After event"
        about={`its number; the last one it was told of is ${hook.seq ?? 0}`}
        inputMode="numeric"
        value={after}
        onChange={(event) => setAfter(event.target.value)}
        error={wrong(replay.error, "after")}
      />
    </FormDialog>
  );
}

function Rotate({ name, onClose, onSecret }: { name: string; onClose: () => void; onSecret: (hook: Hook) => void }) {
  const [overlap, setOverlap] = useState("24h");
  const rotate = useAct(
    () => call(api.POST("/v1/hooks/{name}/rotate", { params: { path: { name } }, body: { overlap } })),
    {
      quiet: true,
      changes: [PATH],
      onDone: (hook) => {
        onClose();
        onSecret(hook);
      },
    },
  );
  return (
    <FormDialog
      title={`A new secret for ${name}`}
      about="It is shown once. For a while requests are signed with the old one, too, so that receivers can be changed."
      action="Make it"
      onClose={onClose}
      onSubmit={() => rotate.mutate()}
      busy={rotate.isPending}
      error={rotate.error}
      fields={["overlap"]}
    >
      <Select
        label="The old one signs for another"
        value={overlap}
        onChange={(event) => setOverlap(event.target.value)}
        choices={[
          { value: "0s", label: "not at all: it ends now" },
          { value: "1h", label: "hour" },
          { value: "24h", label: "24 hours" },
          { value: "7d", label: "7 days" },
        ]}
        error={wrong(rotate.error, "overlap")}
      />
    </FormDialog>
  );
}
