// Rates: how many tasks of a type are handed out in a time.
import { Ellipsis, Plus, Timer } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useGet, useMay } from "../../api";
import { onlyIf, type Seen, seen, useEditing, useSeen } from "../../api/edits";
import {
  Ago,
  Badge,
  Button,
  Columns,
  Conflict,
  Dialog,
  Empty,
  Field,
  FormDialog,
  IconButton,
  Loaded,
  Menu,
  plural,
  Section,
  wrong,
} from "../../ui";
import { shortDuration } from "../schedules/durations";
import styles from "../../ui/Rows.module.css";

type Rate = Schemas["TypeRate"];

const look = (type: string) => () => seen(api.GET("/v1/rates/{type}", { params: { path: { type } } }));

export function Rates() {
  // Tokens come back by the clock: nobody tells of it.
  const rates = useGet("/v1/rates", undefined, { every: 5_000 });
  const maySet = useMay("PUT /v1/rates/{type}");
  const [editing, setEditing] = useState<string | null>(null);
  return (
    <Section
      title="Rates"
      flush
      aside={
        maySet && (
          <Button small icon={<Plus />} onClick={() => setEditing("")}>
            Set a rate
          </Button>
        )
      }
    >
      <Loaded of={rates} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No rates" icon={<Timer />}>
              Tasks are handed out as fast as agents take them.
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Rates">
              {all.map((each) => (
                <Row key={each.type} rate={each} onEdit={() => setEditing(each.type)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing !== null && <RateDialog type={editing} onClose={() => setEditing(null)} />}
    </Section>
  );
}

/** `10/min`, as it is typed. */
function written(rate: Rate): string {
  const named: Record<number, string> = { 1: "s", 60: "min", 3600: "hour", 86400: "day" };
  return `${rate.amount}/${named[rate.per_s] ?? shortDuration(rate.per_s)}`;
}

function Row({ rate, onEdit }: { rate: Rate; onEdit: () => void }) {
  const maySet = useMay("PUT /v1/rates/{type}");
  const { type } = rate;
  const path = { params: { path: { type } } };
  const remove = useAct(() => call(api.DELETE("/v1/rates/{type}", path)), {
    done: `${type} is handed out as fast as agents take it.`,
    undo: () => call(api.PUT("/v1/rates/{type}", { ...path, body: { rate: written(rate), burst: rate.burst } })),
  });
  return (
    <li className={styles.row} data-type={type}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{type}</strong>
          <span className="mono">{written(rate)}</span>
          {(rate.left ?? 0) === 0 && <Badge tone="amber">used up</Badge>}
        </div>
        <div className={styles.facts}>
          <span>{plural(rate.left ?? 0, "task")} may be handed out now</span>
          <span>at most {rate.burst} at once</span>
          {rate.opens_at && (
            <span>
              next <Ago at={rate.opens_at} />
            </span>
          )}
        </div>
      </div>
      {maySet && (
        <Menu
          trigger={<IconButton small label={`More about the rate of ${type}`} icon={<Ellipsis />} />}
          items={[
            { label: "Change…", onSelect: onEdit },
            "line",
            { label: "Remove", danger: true, onSelect: () => remove.mutate() },
          ]}
        />
      )}
    </li>
  );
}

function RateDialog({ type, onClose }: { type: string; onClose: () => void }) {
  return type ? <Existing type={type} onClose={onClose} /> : <Form known={null} onClose={onClose} />;
}

function Existing({ type, onClose }: { type: string; onClose: () => void }) {
  const found = useSeen(["rate", type], look(type));
  if (found.data) return <Form known={found.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Rate of ${type}`}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

function Form({ known, onClose }: { known: Seen<Rate> | null; onClose: () => void }) {
  const [type, setType] = useState(known?.value.type ?? "");
  const [rate, setRate] = useState(known ? written(known.value) : "");
  const [burst, setBurst] = useState(known ? String(known.value.burst) : "");
  const editing = useEditing(known, look(type));
  const save = useAct(
    () =>
      editing.send((version) =>
        call(
          api.PUT("/v1/rates/{type}", {
            params: { path: { type: type.trim() }, ...onlyIf(version) },
            body: { rate: rate.trim(), ...(burst.trim() ? { burst: Number(burst) } : {}) },
          }),
        ),
      ),
    { quiet: true, done: `The rate of ${type.trim()} is set.`, onDone: onClose },
  );
  const { theirs } = editing;
  return (
    <FormDialog
      title={known ? `Rate of ${type}` : "Set a rate"}
      about="No more tasks of the type are handed out in that time. What is over waits, ready."
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!type.trim() || !rate.trim()}
      error={theirs ? null : save.error}
      fields={["type", "rate", "burst"]}
    >
      {theirs && (
        <Conflict
          now={`${written(theirs)}, at most ${theirs.burst} at once`}
          onTake={() => {
            setRate(written(theirs));
            setBurst(String(theirs.burst));
            editing.taken();
          }}
        />
      )}
      <Columns>
        {!known && (
          <Field
            label="Type"
            value={type}
            onChange={(event) => setType(event.target.value)}
            error={wrong(save.error, "type")}
          />
        )}
        <Field
          label="Rate"
          about="10/min, 100/hour or 3/30s"
          value={rate}
          onChange={(event) => setRate(event.target.value)}
          error={wrong(save.error, "rate")}
        />
        <Field
          label="At once"
          about="as many as the rate, unless you say"
          inputMode="numeric"
          value={burst}
          onChange={(event) => setBurst(event.target.value)}
          error={wrong(save.error, "burst")}
        />
      </Columns>
    </FormDialog>
  );
}
