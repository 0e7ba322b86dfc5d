// A form from a question's JSON Schema: `<SchemaForm schema={question.schema} submit="Answer" onSubmit={answer} />`.
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { stringifyExact } from "../api/exact";
import { Button } from "./Button";
import { cx } from "./classes";
import { Field, Select, TextArea } from "./Field";
import styles from "./SchemaForm.module.css";
import { answerOf, type Draft, draftOf, kindOf, type Schema, Unfit } from "./schema";

type SchemaFormProps = {
  /** Anything: what is no schema is asked for as text. */
  schema: unknown;
  onSubmit: (value: unknown) => void;
  submit?: string;
  busy?: boolean;
  /** What the server said about the last answer. */
  error?: string | null;
  initial?: unknown;
  /** The name of a lone field. */
  label?: string;
  /** Beside the button. */
  aside?: ReactNode;
};

export function SchemaForm({
  schema: given,
  onSubmit,
  submit = "Send",
  busy,
  error,
  initial,
  label = "Answer",
  aside,
}: SchemaFormProps) {
  const schema = typeof given === "object" && given !== null ? (given as Schema) : null;
  const [draft, setDraft] = useState<Draft>(() => draftOf(schema, initial ?? schema?.default));
  const [unfit, setUnfit] = useState<Unfit | null>(null);

  const send = (value: Draft) => {
    try {
      const answer = answerOf(schema, value);
      setUnfit(null);
      onSubmit(answer);
    } catch (caught) {
      if (!(caught instanceof Unfit)) throw caught;
      setUnfit(caught);
    }
  };
  const onForm = (event: FormEvent) => {
    event.preventDefault();
    send(draft);
  };

  // Yes or no, and a short choice, take one press.
  const kind = kindOf(schema);
  if (kind === "boolean") {
    return (
      <div className={styles.form}>
        <div className={styles.presses}>
          <Button look="primary" busy={busy ?? false} onClick={() => send(true)}>
            Yes
          </Button>
          <Button busy={busy ?? false} onClick={() => send(false)}>
            No
          </Button>
          {aside}
        </div>
        {error && <Wrong>{error}</Wrong>}
      </div>
    );
  }
  if (kind === "choice" && schema!.enum!.length <= 4 && schema!.enum!.every((one) => shown(one).length <= 24)) {
    return (
      <div className={styles.form}>
        <div className={styles.presses}>
          {schema!.enum!.map((one, index) => (
            <Button key={index} busy={busy ?? false} onClick={() => send(index)}>
              <bdi>{shown(one)}</bdi>
            </Button>
          ))}
          {aside}
        </div>
        {error && <Wrong>{error}</Wrong>}
      </div>
    );
  }
  return (
    <form className={styles.form} onSubmit={onForm} noValidate>
      <Part
        schema={schema}
        name={schema?.title ?? label}
        draft={draft}
        onChange={setDraft}
        path=""
        unfit={unfit}
        required
        top
      />
      {error && <Wrong>{error}</Wrong>}
      <div className={styles.presses}>
        <Button type="submit" look="primary" busy={busy ?? false}>
          {submit}
        </Button>
        {aside}
      </div>
    </form>
  );
}

const Wrong = ({ children }: { children: ReactNode }) => (
  <p className={styles.wrong} role="alert">
    {children}
  </p>
);

type PartProps = {
  schema: Schema | null;
  name: string;
  draft: Draft;
  onChange: (draft: Draft) => void;
  path: string;
  unfit: Unfit | null;
  required: boolean;
  top?: boolean;
};

function Part({ schema, name, draft, onChange, path, unfit, required, top }: PartProps) {
  const id = useId();
  const label = (
    <>
      <bdi>{schema?.title ?? name}</bdi>
      {!required && <span className="muted"> (optional)</span>}
    </>
  );
  const error = unfit?.path === path ? unfit.message : undefined;
  const around = { label, about: schema?.description, error };
  switch (kindOf(schema)) {
    case "fixed":
      return null;
    case "object": {
      const members = Object.entries(schema!.properties!).map(([member, part]) => (
        <Part
          key={member}
          schema={part}
          name={member}
          draft={(draft as Record<string, Draft>)[member] ?? ""}
          onChange={(changed) => onChange({ ...(draft as Record<string, Draft>), [member]: changed })}
          path={path ? `${path}.${member}` : member}
          unfit={unfit}
          required={schema!.required?.includes(member) ?? false}
        />
      ));
      if (top) return <div className={styles.members}>{members}</div>;
      return (
        <fieldset className={cx(styles.members, styles.group)}>
          <legend>{label}</legend>
          {members}
        </fieldset>
      );
    }
    case "boolean":
      return (
        <fieldset className={styles.choice} aria-describedby={error ? `${id}-error` : undefined}>
          <legend>{label}</legend>
          {schema?.description && <p className="muted">{schema.description}</p>}
          {([true, false] as const).map((value) => (
            <label key={String(value)}>
              <input type="radio" name={id} checked={draft === value} onChange={() => onChange(value)} />{" "}
              {value ? "Yes" : "No"}
            </label>
          ))}
          {error && (
            <p id={`${id}-error`} className={styles.wrong} role="alert">
              {error}
            </p>
          )}
        </fieldset>
      );
    case "choice":
      return (
        <Select
          {...around}
          value={String(draft)}
          onChange={(event) => onChange(Number(event.target.value))}
          choices={[
            { value: "-1", label: "Choose …" },
            ...schema!.enum!.map((one, index) => ({ value: String(index), label: shown(one) })),
          ]}
        />
      );
    case "choices":
      return (
        <fieldset className={styles.choice}>
          <legend>{label}</legend>
          {schema?.description && <p className="muted">{schema.description}</p>}
          {schema!.items!.enum!.map((one, index) => (
            <label key={index}>
              <input
                type="checkbox"
                checked={(draft as number[]).includes(index)}
                onChange={() => {
                  const chosen = draft as number[];
                  onChange(
                    chosen.includes(index)
                      ? chosen.filter((at) => at !== index)
                      : [...chosen, index].sort((a, b) => a - b),
                  );
                }}
              />{" "}
              <bdi>{shown(one)}</bdi>
            </label>
          ))}
          {error && <Wrong>{error}</Wrong>}
        </fieldset>
      );
    case "number":
      return (
        <Field
          {...around}
          inputMode="decimal"
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "string":
      if ((schema?.maxLength ?? 1_000) <= 80)
        return <Field {...around} value={String(draft)} onChange={(event) => onChange(event.target.value)} />;
      return <TextArea {...around} rows={2} value={String(draft)} onChange={(event) => onChange(event.target.value)} />;
    case "list":
      return (
        <TextArea
          {...around}
          about={schema?.description ?? "One in each line."}
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "json":
      return (
        <TextArea
          {...around}
          mono
          about={schema?.description ?? "As JSON."}
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "text":
      return <TextArea {...around} rows={2} value={String(draft)} onChange={(event) => onChange(event.target.value)} />;
  }
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : stringifyExact(value);
}
