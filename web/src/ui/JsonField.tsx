// A field for JSON. The editor is loaded when one is first shown; numbers are what is written, to the last digit.
import { lazy, type ReactNode, Suspense, useId } from "react";
import { patiently } from "../api/patiently";
import { cx } from "./classes";
import field from "./Field.module.css";
import styles from "./JsonField.module.css";
import { Skeleton } from "./States";

const Editor = lazy(patiently(() => import("./editor/JsonEditor")));

type JsonFieldProps = {
  label: ReactNode;
  value: string;
  onChange: (text: string) => void;
  about?: ReactNode;
  error?: string | null | undefined;
  autoFocus?: boolean;
  /** For a line or two. */
  small?: boolean;
};

export function JsonField({ label, value, onChange, about, error, autoFocus = false, small }: JsonFieldProps) {
  const id = useId();
  const described = cx(about ? `${id}-about` : "", error ? `${id}-error` : "");
  return (
    <div className={field.field}>
      <span id={id} className={field.label}>
        {label}
      </span>
      <div className={cx(styles.box, small && styles.small, error && styles.wrong)}>
        <Suspense fallback={<Skeleton lines={small ? 1 : 3} />}>
          <Editor
            text={value}
            onChange={onChange}
            fault={error ?? null}
            labelledBy={id}
            describedBy={described || undefined}
            autoFocus={autoFocus}
          />
        </Suspense>
      </div>
      {about && (
        <p id={`${id}-about`} className={field.about}>
          {about}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={field.error} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
