// Data as it is: collapsible, numbers exactly as written, copied as JSON. Nothing of it is ever markup.
import { Check, ChevronRight, Copy } from "lucide-react";
import { type ReactNode, useState } from "react";
import { LosslessNumber, stringifyExact } from "../api/exact";
import { IconButton } from "./Button";
import { cx } from "./classes";
import styles from "./Json.module.css";
import { linked } from "./Text";

/** So many children are shown at a time, and so many characters of a text. */
const PORTION = 100;
const LONG = 600;

type JsonProps = {
  value: unknown;
  /** How many levels are open at first. */
  open?: number;
  /** What it is, for the name of the copy button. */
  label?: string;
};

export function Json({ value, open = 2, label = "JSON" }: JsonProps) {
  return (
    <div className={styles.json}>
      <div className={styles.copy}>
        <CopyButton text={() => stringifyExact(value, 2)} label={`Copy ${label}`} />
      </div>
      <div className={styles.tree}>
        <Node value={value} depth={0} open={open} />
      </div>
    </div>
  );
}

/** Puts a text on the clipboard, and shows that it did. */
export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <IconButton
      small
      label={done ? "Copied" : label}
      icon={done ? <Check /> : <Copy />}
      onClick={async () => {
        await copy(typeof text === "string" ? text : text());
        setDone(true);
        setTimeout(() => setDone(false), 1_500);
      }}
    />
  );
}

async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages from plain http addresses of other machines have no clipboard of their own.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function Node({
  name,
  value,
  depth,
  open,
  last = true,
}: {
  name?: string;
  value: unknown;
  depth: number;
  open: number;
  last?: boolean;
}) {
  const isArray = Array.isArray(value);
  if (!isArray && !isObject(value)) {
    return (
      <Line name={name} last={last}>
        <Leaf value={value} />
      </Line>
    );
  }
  const entries: [string | undefined, unknown][] = isArray
    ? value.map((one) => [undefined, one])
    : Object.entries(value);
  if (entries.length === 0) {
    return (
      <Line name={name} last={last}>
        {isArray ? "[]" : "{}"}
      </Line>
    );
  }
  return <Branch name={name} entries={entries} isArray={isArray} depth={depth} open={open} last={last} />;
}

type BranchProps = {
  name: string | undefined;
  entries: [string | undefined, unknown][];
  isArray: boolean;
  depth: number;
  open: number;
  last: boolean;
};

function Branch({ name, entries, isArray, depth, open, last }: BranchProps) {
  const [isOpen, setOpen] = useState(depth < open);
  const [shown, setShown] = useState(PORTION);
  const [start, end] = isArray ? ["[", "]"] : ["{", "}"];
  const rest = entries.length - shown;
  return (
    <div>
      <button type="button" className={styles.fold} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight aria-hidden className={cx(styles.arrow, isOpen && styles.down)} />
        {name !== undefined && <Key name={name} />}
        {start}
        {!isOpen && (
          <span className={styles.folded}>
            {" "}
            {entries.length.toLocaleString()} {isArray ? "items" : "keys"} {end}
          </span>
        )}
      </button>
      {isOpen && (
        <>
          <div className={styles.children}>
            {entries.slice(0, shown).map(([key, one], index) => (
              <Node
                key={key ?? index}
                {...(key === undefined ? {} : { name: key })}
                value={one}
                depth={depth + 1}
                open={open}
                last={index === entries.length - 1}
              />
            ))}
            {rest > 0 && (
              <button type="button" className={styles.more} onClick={() => setShown(shown + 10 * PORTION)}>
                {rest.toLocaleString()} more
              </button>
            )}
          </div>
          <span className={styles.end}>
            {end}
            {last ? "" : ","}
          </span>
        </>
      )}
    </div>
  );
}

function Line({ name, last, children }: { name: string | undefined; last: boolean; children: ReactNode }) {
  return (
    <div className={styles.line}>
      {name !== undefined && <Key name={name} />}
      {children}
      {last ? "" : ","}
    </div>
  );
}

const Key = ({ name }: { name: string }) => (
  <>
    <span className={styles.key}>{JSON.stringify(name)}</span>:{" "}
  </>
);

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <Words text={value} />;
  if (value === null || value === undefined) return <span className={styles.null}>null</span>;
  if (typeof value === "boolean") return <span className={styles.word}>{String(value)}</span>;
  return <span className={styles.number}>{value instanceof LosslessNumber ? value.value : String(value)}</span>;
}

function Words({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > LONG;
  return (
    <span className={styles.string}>
      "{linked(escaped(cut ? text.slice(0, LONG) : text))}
      {cut ? (
        <button type="button" className={styles.more} onClick={() => setAll(true)}>
          … {(text.length - LONG).toLocaleString()} more characters
        </button>
      ) : (
        '"'
      )}
    </span>
  );
}

/** As JSON writes it, but line breaks and tabs stay readable. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof LosslessNumber);
}
