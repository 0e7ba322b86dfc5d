// Write a dag, see it, send it.
import { useNavigate } from "@tanstack/react-router";
import { CircleAlert, FileUp, Send } from "lucide-react";
import { type DragEvent, useDeferredValue, useMemo, useRef, useState } from "react";
import { api, call, Refused, useAct, useGet, useMay } from "../../api";
import { Button, cx, Empty, Loaded, Page, plural } from "../../ui";
import { type Draft, type Flaw, placeOf, read } from "./document";
import { Editor, type Handle } from "./Editor";
import { YAML } from "./examples";
import type { DagSchema } from "./fields";
import { keep, kept } from "./kept";
import { Preview } from "./Preview";
import styles from "./Submit.module.css";

export default function SubmitScreen() {
  const schema = useGet("/v1/openapi.json" as never, undefined, { fresh: Number.POSITIVE_INFINITY });
  return <Loaded of={schema}>{(found) => <Writing schema={found as unknown as DagSchema} />}</Loaded>;
}

function Writing({ schema }: { schema: DagSchema }) {
  const may = useMay("POST /v1/dags");
  const navigate = useNavigate();
  const [text, setText] = useState(kept);
  const [refusal, setRefusal] = useState<(Flaw & { of: string }) | null>(null);
  const settled = useDeferredValue(text);
  const draft = useMemo(() => read(settled, schema), [settled, schema]);
  const flaws = useMemo(() => (refusal && refusal.of === settled ? [...draft.flaws, refusal] : draft.flaws), [draft, refusal, settled]);
  const handle = useRef<Handle | null>(null);
  const file = useRef<HTMLInputElement>(null);

  const send = useAct(
    async () => {
      const { body, flaws: wrong } = read(text, schema);
      if (body === null) {
        const [first] = wrong;
        throw new Refused(0, "flawed", first ? first.message : "There is nothing to send yet.");
      }
      return call(api.POST("/v1/dags", { body: body as never }));
    },
    {
      done: (dag) => `Added ${plural((dag.tasks ?? []).length, "task")}.`,
      onDone: (dag) => {
        keep("");
        void navigate({ to: "/dags/$id", params: { id: dag.id } });
      },
      quiet: true,
    },
  );
  const submit = () => {
    if (!may || send.isPending) return;
    setRefusal(null);
    send.mutate(undefined, {
      onError: (error) => {
        if (error.status === 0) return;
        const place = placeOf(text, error.message, error.field);
        setRefusal({ ...place, message: error.message, of: text });
        handle.current?.show(place.from, place.to);
      },
    });
  };
  const change = (next: string) => {
    setText(next);
    keep(next);
    if (send.error) send.reset();
  };
  const take = async (found: File | undefined) => {
    if (found) change(await found.text());
  };
  const drop = (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void take(event.dataTransfer.files[0]);
  };

  return (
    <Page
      full
      title="Submit"
      about="A graph of tasks, in YAML or JSON: all of it is added at once, or nothing."
      actions={
        <>
          <input ref={file} type="file" accept=".yaml,.yml,.json,text/*,application/json" hidden aria-label="A file with a dag" onChange={(event) => void take(event.target.files?.[0])} />
          <Button icon={<FileUp />} onClick={() => file.current?.click()}>
            Open a file
          </Button>
          {may && (
            <Button look="primary" icon={<Send />} busy={send.isPending} disabled={draft.body === null || settled !== text} onClick={submit}>
              Submit
            </Button>
          )}
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files may be dropped anywhere here; the button does the same */}
      <div className={styles.panes} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
        <section className={styles.pane} aria-label="Text">
          <header>
            <span className={styles.format}>{draft.format === "json" ? "JSON" : "YAML"}</span>
            <span id="submit-keys" className={cx(styles.keys, "muted")}>
              Ctrl Space offers names, Ctrl Enter submits, Escape and Tab leave.
            </span>
          </header>
          <Editor text={text} onChange={change} onSubmit={submit} flaws={flaws} schema={schema} handle={handle} />
          <Flaws flaws={flaws} text={settled} refusal={send.error && send.error.code !== "flawed" ? send.error.message : null} onShow={(flaw) => handle.current?.show(flaw.from, flaw.to)} />
        </section>
        <section className={styles.pane} aria-label="Preview">
          <header>
            <span>Preview</span>
            <Summary draft={draft} />
          </header>
          {text.trim() === "" ? (
            <Empty
              title="Nothing written yet"
              action={
                <Button look="primary" onClick={() => change(YAML)}>
                  Begin with an example
                </Button>
              }
            >
              Write on the left, open a file, or drop one here.
            </Empty>
          ) : (
            <Preview draft={draft} />
          )}
        </section>
      </div>
    </Page>
  );
}

function Summary({ draft }: { draft: Draft }) {
  if (draft.tasks.length === 0) return null;
  return (
    <span className="muted">
      {plural(draft.tasks.length, "task")}, {plural(draft.edges.length, "edge")}
      {draft.criticalPath.length > 1 ? `, ${draft.criticalPath.length} in the longest chain` : ""}
    </span>
  );
}

/** What is wrong, each a way to its place. */
function Flaws({ flaws, text, refusal, onShow }: { flaws: readonly Flaw[]; text: string; refusal: string | null; onShow: (flaw: Flaw) => void }) {
  if (flaws.length === 0 && !refusal) return null;
  return (
    <div className={styles.flaws} role="alert" aria-live="polite">
      <p>
        <CircleAlert aria-hidden />
        {refusal ? "The server refuses it" : plural(flaws.length, "thing is wrong", "things are wrong")}
      </p>
      {refusal && flaws.every((flaw) => flaw.message !== refusal) && <p>{refusal}</p>}
      <ul>
        {flaws.slice(0, 20).map((flaw, at) => (
          <li key={at}>
            <button type="button" onClick={() => onShow(flaw)}>
              <span className={styles.line}>line {lineAt(text, flaw.from)}</span> <bdi>{flaw.message}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
