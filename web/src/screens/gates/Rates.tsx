// Rates: how many tasks of a type are handed out in a time.
import { Ellipsis, Plus, Timer } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useGet, useMay } from "../../api";
import { onlyIf, seen } from "../../api/edits";
import {
  Ago,
  Badge,
  Button,
  Columns,
  Empty,
  Field,
  IconButton,
  Loaded,
  Menu,
  plural,
  Section,
  SettingDialog,
} from "../../ui";
import { shortDuration } from "../schedules/durations";
import styles from "../../ui/Rows.module.css";

type Rate = Schemas["TypeRate"];

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

type Draft = { type: string; rate: string; burst: string };

function draftOf(known: Rate | null): Draft {
  return {
    type: known?.type ?? "",
    rate: known ? written(known) : "",
    burst: known ? String(known.burst) : "",
  };
}

/** `type` "": one that is named in the form. */
function RateDialog({ type, onClose }: { type: string; onClose: () => void }) {
  return (
    <SettingDialog<Rate, Draft, Rate | null>
      title={type ? `Rate of ${type}` : "Set a rate"}
      about="No more tasks of the type are handed out in that time. What is over waits, ready."
      look={type ? () => seen(api.GET("/v1/rates/{type}", { params: { path: { type } } })) : null}
      draftOf={draftOf}
      isWhole={(draft) => draft.type.trim() !== "" && draft.rate.trim() !== ""}
      put={(draft, version) =>
        call(
          api.PUT("/v1/rates/{type}", {
            params: { path: { type: draft.type.trim() }, ...onlyIf(version) },
            body: { rate: draft.rate.trim(), ...(draft.burst.trim() ? { burst: Number(draft.burst) } : {}) },
          }),
        )
      }
      done={(draft) => `The rate of ${draft.type.trim()} is set.`}
      onClose={onClose}
      terms={(theirs) => `${written(theirs)}, at most ${theirs.burst} at once`}
      fields={["type", "rate", "burst"]}
    >
      {(form) => (
        <Columns>
          {!type && <Field label="Type" {...form.text("type")} />}
          <Field label="Rate" about="10/min, 100/hour or 3/30s" {...form.text("rate")} />
          <Field
            label="At once"
            about="as many as the rate, unless you say"
            inputMode="numeric"
            {...form.text("burst")}
          />
        </Columns>
      )}
    </SettingDialog>
  );
}
