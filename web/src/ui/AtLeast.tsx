import { money, plural } from "./format";

/** What is known to be spent. Where some of it has no known price, it is a lower bound and says so. */
export function AtLeast({ usd, unpriced }: { usd: number | null | undefined; unpriced: number }) {
  return (
    <span style={{ whiteSpace: "nowrap" }} title={usd == null ? undefined : `$${usd}`}>
      {unpriced > 0 ? `≥ ${money(usd ?? 0)}, ${plural(unpriced, "unpriced", "unpriced")}` : money(usd ?? 0)}
    </span>
  );
}
