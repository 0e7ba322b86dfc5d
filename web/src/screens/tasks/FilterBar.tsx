// The query: typed with suggestions, kept in the address, refused in the server's words.
import { Filter, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { useGet } from "../../api";
import { IconButton } from "../../ui";
import styles from "./Tasks.module.css";

interface Props {
  query: string;
  onQuery: (query: string) => void;
  /** What the server said is wrong with it. */
  fault: string | null;
}

export function FilterBar({ query, onQuery, fault }: Props) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(query);
  const [caret, setCaret] = useState<number | null>(null);
  const [at, setAt] = useState(-1);
  /** Enter was pressed on suggestions that were still those of an earlier text. */
  const [waiting, setWaiting] = useState(false);
  /** Where the caret belongs once the text that was chosen stands in the field. */
  const chosen = useRef<number | null>(null);
  const open = caret !== null;
  const found = useGet(
    "/v1/found/suggestions",
    // The text may be shorter by now: without the space behind what was chosen.
    { params: { query: { query: text, at: Math.min(caret ?? text.length, text.length) } } },
    { enabled: open, keep: true, fresh: 10_000 },
  );
  const options = open ? (found.data ?? []) : [];
  const late = open && (found.isPlaceholderData || found.isPending);
  useEffect(() => setText(query), [query]);
  // Not in the next frame: what is typed until then would be torn apart.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the text is in its place
  useLayoutEffect(() => {
    if (chosen.current !== null) field.current?.setSelectionRange(chosen.current, chosen.current);
    chosen.current = null;
  }, [text]);

  const commit = (wanted: string) => {
    setCaret(null);
    setAt(-1);
    setWaiting(false);
    onQuery(wanted.trim());
  };
  const choose = (index: number) => {
    const option = options[index];
    const here = caret ?? text.length;
    // One of an earlier text will do, if what was typed since is the beginning of it.
    const serves = !late || (option !== undefined && isBegun(option.insert, text.slice(option.start, here)));
    setWaiting(!serves);
    if (!serves) return setAt(index);
    setAt(-1);
    if (option === undefined) return;
    const whole = !/[:<>=]$/.test(option.insert);
    const before = text.slice(0, option.start) + option.insert + (whole ? " " : "");
    const wanted = before + text.slice(late ? Math.max(option.end, here) : option.end).replace(/^ /, "");
    setText(wanted);
    setCaret(before.length);
    chosen.current = before.length;
    if (whole) onQuery(wanted.trim());
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was chosen too early is chosen when its list is there
  useEffect(() => {
    if (waiting && !late) choose(at);
  }, [waiting, late]);
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter" && at >= 0) choose(at);
    else if (event.key === "Enter") commit(text);
    else if (event.key === "Tab" && at >= 0) choose(at);
    else if (event.key === "ArrowDown" && options.length > 0) setAt((at + 1) % options.length);
    else if (event.key === "ArrowUp" && options.length > 0) setAt(at <= 0 ? options.length - 1 : at - 1);
    else if (event.key === "Escape") {
      if (options.length > 0) setCaret(null);
      else field.current?.blur();
    } else return;
    event.preventDefault();
  };
  return (
    <div className={styles.filter}>
      <Filter className={styles.filterIcon} aria-hidden />
      <input
        ref={field}
        data-search
        className={styles.query}
        value={text}
        placeholder="status:running type:code cost>0.5 age>1h words"
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        maxLength={2000}
        role="combobox"
        aria-label="Filter tasks"
        aria-expanded={options.length > 0}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={fault !== null}
        aria-describedby={fault === null ? undefined : `${id}-fault`}
        onChange={(event) => {
          setText(event.target.value);
          setCaret(event.target.selectionStart ?? event.target.value.length);
          setAt(-1);
          setWaiting(false);
        }}
        onSelect={(event) => {
          if (document.activeElement === event.currentTarget && caret !== null)
            setCaret(event.currentTarget.selectionStart);
        }}
        onFocus={(event) => setCaret(event.target.selectionStart ?? text.length)}
        onBlur={() => commit(text)}
        onKeyDown={onKeyDown}
      />
      {text !== "" && (
        <span className={styles.clear}>
          <IconButton
            small
            label="Clear the filter"
            icon={<X />}
            onClick={() => {
              setText("");
              commit("");
            }}
          />
        </span>
      )}
      <div
        id={`${id}-options`}
        className={styles.options}
        role="listbox"
        aria-label="Suggestions"
        hidden={options.length === 0}
      >
        {options.map((option, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
          <div
            key={`${option.insert} ${index}`}
            id={`${id}-${index}`}
            className={styles.option}
            role="option"
            aria-selected={index === at}
            onMouseDown={(event) => event.preventDefault()}
            onMouseEnter={() => setAt(index)}
            onClick={() => choose(index)}
          >
            <code>{option.insert}</code>
            {option.about && <span>{option.about}</span>}
          </div>
        ))}
      </div>
      {fault !== null && (
        <p id={`${id}-fault`} className={styles.fault} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

function isBegun(whole: string, begun: string): boolean {
  return whole.toLowerCase().startsWith(begun.toLowerCase());
}
