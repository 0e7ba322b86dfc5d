// What agents and users wrote: always text. Links only to http and https, and they say nothing of where they were.
import { type ReactNode, useState } from "react";
import styles from "./Text.module.css";
import { cx } from "./classes";

const LINK = /https?:\/\/[^\s<>"'`{}|\\^]+/gi;
const TRAILING = /[.,;:!?)\]]+$/;
/** Longer texts begin folded: a megabyte of error must not make a page of its own. */
const FOLDED_CHARS = 4_000;

/** A text with its links; everything else stays what it is. */
export function linked(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(LINK)) {
    const url = match[0].replace(TRAILING, "");
    if (!isWeb(url)) continue;
    parts.push(text.slice(at, match.index));
    parts.push(
      <a key={match.index} href={url} target="_blank" rel="noopener noreferrer nofollow">
        {url}
      </a>,
    );
    at = match.index + url.length;
  }
  parts.push(text.slice(at));
  return parts;
}

export function isWeb(url: string): boolean {
  try {
    const { protocol, username, password } = new URL(url);
    return (protocol === "http:" || protocol === "https:") && !username && !password;
  } catch {
    return false;
  }
}

type TextProps = {
  children: string | null | undefined;
  /** In a fixed-width font (errors, logs). */
  mono?: boolean;
  /** At most so many lines; the rest is in the tooltip. */
  lines?: number;
  className?: string;
};

export function Text({ children, mono, lines, className }: TextProps) {
  const [open, setOpen] = useState(false);
  const text = children ?? "";
  const folded = !lines && !open && text.length > FOLDED_CHARS;
  const look = cx(
    styles.text,
    mono && styles.mono,
    lines === 1 && styles.line,
    lines !== undefined && lines > 1 && styles.clamp,
    className,
  );
  return (
    <span
      className={look}
      dir="auto"
      {...(lines ? { title: text.slice(0, 1_000), style: lines > 1 ? { WebkitLineClamp: lines } : {} } : {})}
    >
      {linked(folded ? text.slice(0, FOLDED_CHARS) : lines ? text.slice(0, FOLDED_CHARS) : text)}
      {folded && (
        <>
          …{" "}
          <button type="button" className={styles.more} onClick={() => setOpen(true)}>
            show all {text.length.toLocaleString()} characters
          </button>
        </>
      )}
    </span>
  );
}
