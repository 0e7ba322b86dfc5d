/** JSON to be written, with its colours, and a mark where it stops being JSON. */
import { json } from "@codemirror/lang-json";
import { syntaxTree } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";
import { mark, PLAIN, replaceAll } from "./plain";

export type JsonEditorProps = {
  text: string;
  onChange: (text: string) => void;
  /** What is wrong with it. */
  fault: string | null;
  /** Where its name and what is said about it are. */
  labelledBy: string;
  describedBy: string | undefined;
  autoFocus: boolean;
};

export default function JsonEditor({ text, onChange, fault, labelledBy, describedBy, autoFocus }: JsonEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const told = useRef(new Compartment());
  const latest = useRef(onChange);
  latest.current = onChange;
  const attributes = EditorView.contentAttributes.of({
    "aria-labelledby": labelledBy,
    ...(describedBy ? { "aria-describedby": describedBy } : {}),
    ...(fault === null ? {} : { "aria-invalid": "true" }),
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once, and keeps its own text
  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([{ key: "Mod-Enter", run: sent }]),
          PLAIN,
          EditorView.lineWrapping,
          json(),
          told.current.of(attributes),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    if (autoFocus) made.focus();
    return () => {
      made.destroy();
      view.current = null;
    };
  }, []);

  // At once: a moment later what is typed meanwhile would be taken for an older text.
  useLayoutEffect(() => {
    if (view.current && view.current.state.doc.toString() !== text) replaceAll(view.current, text);
  }, [text]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the attributes are made of these
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    made.dispatch({ effects: told.current.reconfigure(attributes) });
    mark(made, fault === null ? [] : [{ ...whereItEnds(made), message: fault }]);
  }, [fault, text, describedBy]);

  return <div ref={place} />;
}

/** Ctrl Enter sends the form that it stands in. */
function sent(view: EditorView): boolean {
  view.dom.closest("form")?.requestSubmit();
  return true;
}

/** The first place that no JSON could have; where none is found, all of it. */
function whereItEnds(view: EditorView): { from: number; to: number } {
  let found: { from: number; to: number } | null = null;
  syntaxTree(view.state).iterate({
    enter: ({ type, from, to }) => {
      if (found === null && type.isError) found = { from, to: Math.max(to, from + 1) };
      return found === null;
    },
  });
  return found ?? { from: 0, to: view.state.doc.length };
}
