// Inputs with a label that belongs to them, and what is wrong with them below.
import { type ComponentProps, type ReactNode, useId } from "react";
import styles from "./Field.module.css";
import { cx } from "./classes";

type Around = { label: ReactNode; about?: ReactNode; error?: ReactNode; hideLabel?: boolean };

function Wrap({ id, label, about, error, hideLabel, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={cx(styles.label, hideLabel && "visually-hidden")}>
        {label}
      </label>
      {children}
      {about && (
        <p id={`${id}-about`} className={styles.about}>
          {about}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function described(id: string, { about, error }: Around) {
  const by = cx(about ? `${id}-about` : "", error ? `${id}-error` : "");
  return { ...(by ? { "aria-describedby": by } : {}), ...(error ? { "aria-invalid": true } : {}) };
}

export function Field({ label, about, error, hideLabel, className, ...rest }: Around & ComponentProps<"input">) {
  const made = useId();
  const id = rest.id ?? made;
  const around = { label, about, error, ...(hideLabel ? { hideLabel } : {}) };
  return (
    <Wrap id={id} {...around}>
      <input autoComplete="off" {...rest} id={id} {...described(id, around)} className={cx(styles.input, className)} />
    </Wrap>
  );
}

export function TextArea({
  label,
  about,
  error,
  hideLabel,
  className,
  mono,
  ...rest
}: Around & ComponentProps<"textarea"> & { mono?: boolean }) {
  const made = useId();
  const id = rest.id ?? made;
  const around = { label, about, error, ...(hideLabel ? { hideLabel } : {}) };
  return (
    <Wrap id={id} {...around}>
      <textarea
        rows={3}
        {...rest}
        id={id}
        {...described(id, around)}
        className={cx(styles.input, styles.area, mono && "mono", className)}
      />
    </Wrap>
  );
}

type Choice = { value: string; label: string };

export function Select({
  label,
  about,
  error,
  hideLabel,
  choices,
  className,
  ...rest
}: Around & ComponentProps<"select"> & { choices: Choice[] }) {
  const made = useId();
  const id = rest.id ?? made;
  const around = { label, about, error, ...(hideLabel ? { hideLabel } : {}) };
  return (
    <Wrap id={id} {...around}>
      <select {...rest} id={id} {...described(id, around)} className={cx(styles.input, styles.select, className)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </Wrap>
  );
}

export function Checkbox({ label, ...rest }: { label: ReactNode } & ComponentProps<"input">) {
  return (
    <label className={styles.check}>
      <input {...rest} type="checkbox" />
      <span>{label}</span>
    </label>
  );
}
