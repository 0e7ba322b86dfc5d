// A number that is changed where it stands: Enter or leaving it saves, Escape does not.
import { Pencil } from "lucide-react";
import { type ReactNode, useState } from "react";
import { cx } from "./classes";
import styles from "./EditNumber.module.css";

type EditNumberProps = {
  value: number;
  /** What it is, such as "Slots of render". */
  label: string;
  onSave: (value: number) => void;
  /** Nobody here may change it: only shown. */
  fixed?: boolean;
  min?: number;
  children?: ReactNode;
};

export function EditNumber({ value, label, onSave, fixed, min = 1, children }: EditNumberProps) {
  const [draft, setDraft] = useState<string | null>(null);
  if (fixed) return <span>{children ?? value.toLocaleString("en-US")}</span>;
  if (draft === null) {
    return (
      <button
        type="button"
        className={styles.shown}
        aria-label={`${label}: ${value}. Change`}
        onClick={() => setDraft(String(value))}
      >
        {children ?? value.toLocaleString("en-US")}
        <Pencil aria-hidden />
      </button>
    );
  }
  const wanted = Number(draft);
  const isGood = draft.trim() !== "" && Number.isInteger(wanted) && wanted >= min;
  const save = () => {
    if (isGood && wanted !== value) onSave(wanted);
    setDraft(null);
  };
  return (
    <input
      className={cx(styles.input, !isGood && styles.bad)}
      aria-label={label}
      aria-invalid={!isGood || undefined}
      inputMode="numeric"
      // biome-ignore lint/a11y/noAutofocus: it takes the place of what was pressed
      autoFocus
      value={draft}
      onChange={(event) => setDraft(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Enter" && isGood) save();
        if (event.key === "Escape") {
          event.stopPropagation();
          setDraft(null);
        }
      }}
    />
  );
}
