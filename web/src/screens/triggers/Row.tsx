import { api, call, stringifyExact, useMay } from "../../api";
import { Ago, Badge, Button, Count, duration, RowActions, Text } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { Last } from "../schedules/Last";
import { Makes, Problem } from "../schedules/Makes";
import { bodyOf, draftOf, type Trigger } from "./draft";
import { Address } from "./TriggerDialog";

type RowProps = { trigger: Trigger; onEdit: () => void; onTest: () => void };

export function Row({ trigger, onEdit, onTest }: RowProps) {
  const { name } = trigger;
  return (
    <li className={styles.row} data-trigger={name}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{name}</strong>
          <Badge tone="blue">{trigger.on}</Badge>
          {trigger.paused && <Badge tone="amber">paused</Badge>}
          {trigger.error && <Badge tone="red">failed</Badge>}
          <span className="mono">
            <Text>{what(trigger)}</Text>
          </span>
        </div>
        <div className={styles.facts}>
          {Object.entries(trigger.where ?? {}).map(([path, value]) => (
            <span key={path} className="mono">
              <Text>{`${path} = ${typeof value === "string" ? value : stringifyExact(value)}`}</Text>
            </span>
          ))}
          <Last of={trigger} />
          {(trigger.dropped ?? 0) > 0 && (
            <span>
              <Count value={trigger.dropped} /> dropped
            </span>
          )}
          <span>at most {trigger.rate}</span>
          {trigger.cools_until && (
            <span>
              cools until <Ago at={trigger.cools_until} />
            </span>
          )}
          <Problem>{trigger.error}</Problem>
        </div>
        <div className={styles.facts}>
          <Makes of={trigger} />
        </div>
        {trigger.on === "webhook" && <Address name={name} />}
      </div>
      <Changing trigger={trigger} onEdit={onEdit} onTest={onTest} />
    </li>
  );
}

/** What it waits for, in a few words. */
function what(trigger: Trigger): string {
  if (trigger.on === "event") return (trigger.events ?? []).join(", ");
  if (trigger.on === "files") return (trigger.paths ?? []).join(", ");
  if (trigger.on === "webhook") return `signed as ${trigger.scheme}`;
  const parts = [
    trigger.failure_rate != null && `${Math.round(trigger.failure_rate * 100)} % failed`,
    trigger.cost != null && `cost of $${trigger.cost}`,
  ].filter(Boolean);
  return `${trigger.type}: ${parts.join(" or ")}${trigger.window != null ? ` within ${duration(trigger.window)}` : ""}`;
}

function Changing({ trigger, onEdit, onTest }: RowProps) {
  const may = useMay("POST /v1/triggers/{name}/pause");
  const { name } = trigger;
  const path = { params: { path: { name } } };
  // A webhook's secret is gone with it: another one would be drawn, which no sender has.
  const signed = trigger.on === "webhook";
  if (!may) return null;
  return (
    <RowActions
      list="/v1/triggers"
      kind="trigger"
      name={name}
      paused={trigger.paused ?? false}
      turn={(on) =>
        on ? call(api.POST("/v1/triggers/{name}/pause", path)) : call(api.POST("/v1/triggers/{name}/resume", path))
      }
      shown={(paused) => ({ paused })}
      told={{ paused: `${name} is paused.`, resumed: `${name} goes on.` }}
      remove={() => call(api.DELETE("/v1/triggers/{name}", path))}
      removed={signed ? "Its secret is forgotten with it. What it made stays." : "What it made stays."}
      restore={
        signed
          ? undefined
          : () => call(api.PUT("/v1/triggers/{name}", { ...path, body: bodyOf(draftOf(trigger), false) }))
      }
      items={[{ label: "Edit…", onSelect: onEdit }]}
    >
      <Button small onClick={onTest} aria-label={`Test ${name}`}>
        Test
      </Button>
    </RowActions>
  );
}
