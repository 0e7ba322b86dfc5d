import { useNow } from "./clock";
import { ago, count, duration, fullTime, millis, money } from "./format";

type Instant = string | number | null | undefined;

const NONE = <span className="muted">–</span>;

/** How long ago an instant was (or in how long it will be), kept right; the whole instant in the tooltip. */
export function Ago({ at }: { at: Instant }) {
  const now = useNow();
  const found = millis(at);
  if (found === null) return NONE;
  return (
    <time dateTime={new Date(found).toISOString()} title={fullTime(found)} style={{ whiteSpace: "nowrap" }}>
      {ago((now - found) / 1_000)}
    </time>
  );
}

/** A length of time: `seconds`, or from one instant to another (without `to`: until now, ticking). */
export function Duration(props: { seconds: number | null | undefined } | { from: Instant; to?: Instant }) {
  if ("seconds" in props)
    return props.seconds == null ? NONE : <span style={{ whiteSpace: "nowrap" }}>{duration(props.seconds)}</span>;
  const from = millis(props.from);
  const to = millis(props.to);
  if (from === null) return NONE;
  if (to === null) return <Ticking from={from} />;
  return <span style={{ whiteSpace: "nowrap" }}>{duration((to - from) / 1_000)}</span>;
}

function Ticking({ from }: { from: number }) {
  const now = useNow();
  const seconds = Math.max(0, (now - from) / 1_000);
  return <span style={{ whiteSpace: "nowrap" }}>{duration(seconds < 10 ? Math.floor(seconds) || 1 : seconds)}</span>;
}

/** Money in USD; `unpriced`: so many calls whose price nobody knows. */
export function Money({ usd, unpriced }: { usd: number | null | undefined; unpriced?: number }) {
  if (usd == null && !unpriced) return NONE;
  const said = `${unpriced} without a known price`;
  if (usd == null) {
    return (
      <span className="muted" title={said}>
        unknown
      </span>
    );
  }
  return (
    <span style={{ whiteSpace: "nowrap" }} title={`$${usd}`}>
      {money(usd)}
      {unpriced ? <span className="muted" title={said}>{` +${count(unpriced)}?`}</span> : null}
    </span>
  );
}

/** A number, shortened from ten thousand on; exact in the tooltip. */
export function Count({ value }: { value: number | null | undefined }) {
  if (value == null) return NONE;
  return <span title={value >= 10_000 ? value.toLocaleString("en-US") : undefined}>{count(value)}</span>;
}
