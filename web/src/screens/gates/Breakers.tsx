// Circuit breakers: which types keep failing, and what follows from it.
import { Ellipsis, Plus, ShieldCheck, Zap, ZapOff } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useBreakers, useMay } from "../../api";
import {
  Ago,
  Badge,
  Button,
  Duration,
  Empty,
  IconButton,
  Loaded,
  Menu,
  Section,
  TaskLink,
  Text,
  useConfirm,
} from "../../ui";
import { BreakerDialog } from "./BreakerDialog";
import styles from "../../ui/Rows.module.css";

export type Breaker = Schemas["Breaker"];

export function Breakers() {
  const breakers = useBreakers();
  const maySet = useMay("PUT /v1/breakers/{type}");
  const [editing, setEditing] = useState<string | null>(null);
  return (
    <Section
      title="Circuit breakers"
      flush
      aside={
        maySet && (
          <Button small icon={<Plus />} onClick={() => setEditing("")}>
            Set one
          </Button>
        )
      }
    >
      <Loaded of={breakers} lines={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No breakers" icon={<ShieldCheck />}>
              A type that keeps failing is handed out on and on.
              {maySet ? " Set a breaker, and it is stopped after some failures in a row." : ""}
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Circuit breakers">
              {all.map((each) => (
                <Row key={each.type} breaker={each} onEdit={() => setEditing(each.type)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing !== null && <BreakerDialog type={editing} onClose={() => setEditing(null)} />}
    </Section>
  );
}

function State({ breaker }: { breaker: Breaker }) {
  if (breaker.state === "open")
    return (
      <Badge tone="red" icon={<Zap aria-hidden />}>
        open
      </Badge>
    );
  if (breaker.state === "half_open")
    return (
      <Badge tone="amber" icon={<Zap aria-hidden />}>
        half-open
      </Badge>
    );
  if (!breaker.enabled) return <Badge icon={<ZapOff aria-hidden />}>off</Badge>;
  return (
    <Badge tone="green" icon={<ShieldCheck aria-hidden />}>
      closed
    </Badge>
  );
}

function Row({ breaker, onEdit }: { breaker: Breaker; onEdit: () => void }) {
  const every = breaker.type === "*";
  return (
    <li className={styles.row} data-type={breaker.type}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{every ? "every type without its own" : breaker.type}</strong>
          <State breaker={breaker} />
          {(breaker.failures ?? 0) > 0 && (
            <Badge tone="orange">
              {breaker.failures} of {breaker.failure_threshold} failures
            </Badge>
          )}
        </div>
        <div className={styles.facts}>
          {breaker.enabled ? (
            <>
              <span>opens after {breaker.failure_threshold} in a row</span>
              <span>
                tries again after <Duration seconds={breaker.half_open_after_s} />
              </span>
              <span>
                forgets after <Duration seconds={breaker.cooldown_s} />
              </span>
              {!breaker.own && !every && <span>as every type</span>}
            </>
          ) : (
            <span>Failures do not open it.</span>
          )}
          {breaker.reason && (
            <span>
              <Text>{breaker.reason}</Text>
            </span>
          )}
          {breaker.state === "open" && breaker.opened_at && (
            <span>
              opened <Ago at={breaker.opened_at} />
            </span>
          )}
          {breaker.state === "open" && breaker.half_open_due_at && (
            <span>
              tries one task <Ago at={breaker.half_open_due_at} />
            </span>
          )}
          {breaker.probe && (
            <span>
              probe <TaskLink task={breaker.probe} />
            </span>
          )}
        </div>
      </div>
      <Changing breaker={breaker} onEdit={onEdit} />
    </li>
  );
}

function Changing({ breaker, onEdit }: { breaker: Breaker; onEdit: () => void }) {
  const { type } = breaker;
  const may = useMay("POST /v1/breakers/{type}/open");
  const confirm = useConfirm();
  const path = { params: { path: { type } } };
  const shut = () => call(api.POST("/v1/breakers/{type}/close", path));
  const open = useAct(() => call(api.POST("/v1/breakers/{type}/open", { ...path, body: {} })), {
    done: `The breaker of ${type} is open: nothing of it is handed out.`,
    undo: shut,
  });
  const close = useAct(shut, { done: `The breaker of ${type} is closed: its tasks are handed out again.` });
  const reset = useAct(() => call(api.POST("/v1/breakers/{type}/reset", path)), {
    done: `The breaker of ${type} was reset.`,
    ...(breaker.own ? { undo: () => call(api.PUT("/v1/breakers/{type}", { ...path, body: asSet(breaker) })) } : {}),
  });
  if (!may) return null;
  const every = type === "*";
  const isOpen = breaker.state !== "closed";
  return (
    <div className={styles.does}>
      {!every && (
        <Button
          small
          look={isOpen ? "plain" : "danger"}
          busy={open.isPending || close.isPending}
          aria-label={`${isOpen ? "Close" : "Open"} the breaker of ${type}`}
          onClick={() => (isOpen ? close.mutate() : open.mutate())}
        >
          {isOpen ? "Close" : "Open"}
        </Button>
      )}
      <Menu
        trigger={<IconButton small label={`More about the breaker of ${type}`} icon={<Ellipsis />} />}
        items={[
          { label: "Change thresholds…", onSelect: onEdit },
          "line",
          {
            label: "Reset…",
            danger: true,
            onSelect: async () => {
              const sure = await confirm({
                title: every ? "Reset what holds for every type?" : `Reset the breaker of ${type}?`,
                body: "What it counted and how it was set is forgotten.",
                action: "Reset it",
                danger: true,
              });
              if (sure) reset.mutate();
            },
          },
        ]}
      />
    </div>
  );
}

function asSet(breaker: Breaker) {
  return {
    failure_threshold: breaker.failure_threshold ?? 5,
    cooldown_s: breaker.cooldown_s ?? 300,
    half_open_after_s: breaker.half_open_after_s ?? 60,
    enabled: breaker.enabled ?? true,
  };
}
