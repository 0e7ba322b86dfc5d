/** The text of a dag, with what is known about it: names and values are offered, what is wrong is marked at its place. */
import { autocompletion, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, placeholder } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";
import { mark, PLAIN, replaceAll } from "../../ui/editor/plain";
import { type Cursor, cursorAt, OF_REFS, refsIn } from "./context";
import { type Flaw, formatOf } from "./document";
import { type DagSchema, fieldsOf, HELP, inWords, VALUES } from "./fields";
import styles from "./Submit.module.css";

export interface Handle {
  show: (from: number, to: number) => void;
}

type EditorProps = {
  text: string;
  onChange: (text: string) => void;
  onSubmit: () => void;
  flaws: readonly Flaw[];
  schema: DagSchema;
  handle: React.RefObject<Handle | null>;
};

export function Editor({ text, onChange, onSubmit, flaws, schema, handle }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const language = useRef(new Compartment());
  const latest = useRef({ onChange, onSubmit, schema });
  latest.current = { onChange, onSubmit, schema };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once, and keeps its own text
  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          placeholder("title: …\ntasks:\n  - type: …"),
          EditorView.contentAttributes.of({ "aria-label": "The dag, in YAML or JSON", "aria-describedby": "submit-keys", tabindex: "0" }),
          autocompletion({ override: [(context) => offered(context, latest.current.schema)], icons: false }),
          hoverTooltip((editor, at) => explained(editor, at, latest.current.schema)),
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                latest.current.onSubmit();
                return true;
              },
            },
            ...completionKeymap,
            // After Escape, Tab moves on as everywhere: the editor sees to that.
            indentWithTab,
          ]),
          PLAIN,
          language.current.of(languageOf(text)),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const written = update.state.doc.toString();
            latest.current.onChange(written);
            if (formatOf(written) !== formatOf(update.startState.doc.toString())) {
              queueMicrotask(() => made.dispatch({ effects: language.current.reconfigure(languageOf(written)) }));
            }
          }),
        ],
      }),
    });
    view.current = made;
    handle.current = {
      show: (from, to) => {
        const end = made.state.doc.length;
        made.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, scrollIntoView: true });
        made.focus();
      },
    };
    return () => {
      made.destroy();
      view.current = null;
      handle.current = null;
    };
  }, []);

  // Text that came from elsewhere: an example, a file. At once: a moment later what is typed meanwhile would be lost.
  useLayoutEffect(() => {
    const made = view.current;
    if (made && made.state.doc.toString() !== text) {
      replaceAll(made, text);
      made.dispatch({ effects: language.current.reconfigure(languageOf(text)) });
    }
  }, [text]);

  useEffect(() => {
    if (view.current) mark(view.current, flaws);
  }, [flaws]);

  return <div ref={place} className={styles.editor} />;
}

const languageOf = (text: string) => (formatOf(text) === "json" ? json() : yaml());

function offered(context: CompletionContext, schema: DagSchema): CompletionResult | null {
  const text = context.state.doc.toString();
  const cursor = cursorAt(text, context.pos);
  if (cursor === null || (!context.explicit && cursor.from === context.pos && cursor.what === "name")) return null;
  const options = cursor.what === "name" ? names(cursor, schema, text) : values(cursor, text);
  return options.length > 0 ? { from: cursor.from, options, validFor: /^[\w:%-]*$/ } : null;
}

function names(cursor: Cursor, schema: DagSchema, text: string) {
  const isJson = formatOf(text) === "json";
  const quoted = isJson && text[cursor.from - 1] === '"';
  return Object.entries(fieldsOf(schema, cursor.kind)).map(([name, type]) => ({
    label: name,
    detail: inWords(type),
    info: HELP[cursor.kind][name] ?? "",
    apply: isJson ? (quoted ? name : `"${name}": `) : `${name}: `,
    boost: ["type", "ref", "title", "payload", "after", "tasks"].includes(name) ? 1 : 0,
  }));
}

function values(cursor: Cursor, text: string) {
  const field = cursor.field ?? "";
  const words = OF_REFS.has(field) ? refsIn(text) : (VALUES[field] ?? []);
  const bare = formatOf(text) === "json" && text[cursor.from - 1] !== '"' && field !== "approval";
  return words.map((word) => ({ label: word, apply: bare ? JSON.stringify(word) : word }));
}

function explained(editor: EditorView, at: number, schema: DagSchema) {
  const text = editor.state.doc.toString();
  const word = editor.state.wordAt(at);
  if (!word) return null;
  const name = text.slice(word.from, word.to);
  if (!/^"?\s*:/.test(text.slice(word.to, word.to + 4))) return null;
  const cursor = cursorAt(text, word.to);
  const type = cursor && fieldsOf(schema, cursor.kind)[name];
  if (!cursor || !type || cursor.what !== "name") return null;
  return {
    pos: word.from,
    end: word.to,
    create: () => {
      const dom = document.createElement("div");
      dom.className = styles.explained ?? "";
      const title = document.createElement("strong");
      title.textContent = `${name}: ${inWords(type)}`;
      const help = document.createElement("p");
      help.textContent = HELP[cursor.kind][name] ?? "";
      dom.append(title, help);
      return { dom };
    },
  };
}
