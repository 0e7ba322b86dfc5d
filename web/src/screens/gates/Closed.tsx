// What is closed now, and the one button that opens it.
import { useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CirclePause, Gauge, Hourglass, type LucideIcon, Timer, Zap } from "lucide-react";
import { api, call, keyOf, type Schemas, useAct, useGet, useMay } from "../../api";
import { Ago, Badge, Button, Empty, Loaded, Section, Text, type Tone } from "../../ui";
import styles from "../../ui/Rows.module.css";

type Closure = Schemas["Closure"];

const KINDS: Record<string, { tone: Tone; icon: LucideIcon; word: string }> = {
  pause: { tone: "amber", icon: CirclePause, word: "paused" },
  breaker: { tone: "red", icon: Zap, word: "breaker open" },
  limit: { tone: "orange", icon: Hourglass, word: "rate limited" },
  slots: { tone: "blue", icon: Gauge, word: "all slots taken" },
  rate: { tone: "blue", icon: Timer, word: "rate used up" },
};
const PATH = "/v1/gates";

export function Closed() {
  // Pauses and limits end by themselves, by the clock: nobody tells of it at once.
  const gates = useGet(PATH, undefined, { every: 5_000 });
  return (
    <Section title="Closed now" flush>
      <Loaded of={gates} lines={2}>
        {(closed) =>
          closed.length === 0 ? (
            <Empty title="Nothing is closed" icon={<CircleCheck />}>
              Ready tasks go to whoever can do them.
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Closed now">
              {closed.map((each) => (
                <Row key={`${each.kind} ${each.gate}`} gate={each} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}

function Row({ gate }: { gate: Closure }) {
  const { tone, icon: Icon, word } = KINDS[gate.kind] ?? { tone: "gray" as const, icon: CirclePause, word: gate.kind };
  return (
    <li className={styles.row}>
      <div className={styles.main}>
        <div className={styles.line}>
          <Badge tone={tone} icon={<Icon aria-hidden />}>
            {word}
          </Badge>
          <strong className={styles.name}>{nameOf(gate)}</strong>
        </div>
        <div className={styles.facts}>
          {gate.reason && (
            <span>
              <Text>{gate.reason}</Text>
            </span>
          )}
          {gate.since && (
            <span>
              since <Ago at={gate.since} />
            </span>
          )}
          {gate.by && (
            <span>
              by <Text>{gate.by}</Text>
            </span>
          )}
          <span>
            {gate.until ? (
              <>
                opens <Ago at={gate.until} />
              </>
            ) : (
              untilWhat(gate)
            )}
          </span>
        </div>
      </div>
      <Opening gate={gate} />
    </li>
  );
}

/** What lies behind it, in words. */
function nameOf(gate: Closure): string {
  if (gate.gate === "everything") return "everything";
  const [, name = ""] = split(gate.gate);
  if (gate.provider) return `provider ${gate.provider}`;
  if (gate.agent) return `agent ${gate.agent}`;
  if (gate.lane != null && gate.kind === "pause" && gate.gate.startsWith("lane:"))
    return `lane ${gate.lane}${gate.type ? ` (${gate.type})` : ""}`;
  return `type ${gate.type ?? name}`;
}

function untilWhat(gate: Closure): string {
  if (gate.kind === "slots") return "until one of them ends";
  return gate.kind === "breaker" ? "until its probe ends" : "until somebody resumes it";
}

function split(gate: string): [string, string] {
  const at = gate.indexOf(":");
  return at < 0 ? [gate, ""] : [gate.slice(0, at), gate.slice(at + 1)];
}

/** What `resume` takes for this gate. */
export function scopeOf(gate: Closure): Schemas["ResumeRequest"] {
  const [kind, name] = split(gate.gate);
  if (kind === "everything") return { everything: true };
  if (kind === "lane") return { lane: gate.lane ?? Number(name) };
  if (kind === "agent") return { agent: name };
  if (kind === "provider") return { provider: name };
  if (kind === "limit") return { limit: name };
  return { type: name };
}

function Opening({ gate }: { gate: Closure }) {
  const client = useQueryClient();
  const mayResume = useMay("POST /v1/pauses/resume");
  const mayClose = useMay("POST /v1/breakers/{type}/close");
  const drop = () =>
    client.setQueryData<Closure[]>(keyOf(PATH), (known) =>
      known?.filter((each) => each.gate !== gate.gate || each.kind !== gate.kind),
    );
  const resume = useAct(() => call(api.POST("/v1/pauses/resume", { body: scopeOf(gate) })), {
    done: gate.kind === "pause" ? `Resumed: ${nameOf(gate)}.` : `Opened: ${nameOf(gate)}.`,
    ...(gate.kind === "pause" ? { undo: () => call(api.POST("/v1/pauses", { body: pauseAgain(gate) })) } : {}),
  });
  const close = useAct(
    () => call(api.POST("/v1/breakers/{type}/close", { params: { path: { type: gate.type ?? "" } } })),
    {
      done: `The breaker of ${gate.type} is closed: its tasks are handed out again.`,
    },
  );
  if (gate.kind === "pause" || gate.kind === "limit") {
    if (!mayResume) return null;
    return (
      <Button
        small
        busy={resume.isPending}
        aria-label={`${gate.kind === "pause" ? "Resume" : "Open now"}: ${nameOf(gate)}`}
        onClick={() => {
          drop();
          resume.mutate();
        }}
      >
        {gate.kind === "pause" ? "Resume" : "Open now"}
      </Button>
    );
  }
  if (gate.kind !== "breaker" || !mayClose || !gate.type) return null;
  return (
    <Button
      small
      busy={close.isPending}
      aria-label={`Let work flow: ${nameOf(gate)}`}
      onClick={() => {
        drop();
        close.mutate();
      }}
    >
      Let work flow
    </Button>
  );
}

/** The same pause once more. */
function pauseAgain(gate: Closure): Schemas["PauseRequest"] {
  const { provider: _provider, limit: _limit, ...scope } = scopeOf(gate);
  return {
    ...scope,
    ...(gate.reason ? { reason: gate.reason } : {}),
    ...(gate.until ? { until: gate.until } : {}),
    ...(gate.by ? { by: gate.by } : {}),
  };
}
