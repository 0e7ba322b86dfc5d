/** What every editor of texts has: numbers, colours, undo, and marks where something is wrong. */
import { closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const LOOKS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--blue)" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--violet)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--muted)" },
]);

const THEME = EditorView.theme({
  "&": { fontSize: "12.5px", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { flex: "1 1 auto", fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--muted)",
    borderRight: "1px solid var(--line)",
    alignSelf: "stretch",
    height: "auto !important",
  },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selected) !important" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "6px",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    boxShadow: "var(--shadow)",
    maxWidth: "360px",
  },
  ".cm-tooltip-autocomplete ul li": { padding: "2px 8px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent) !important",
    color: "var(--on-accent) !important",
  },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.85", marginLeft: "1em" },
  ".cm-completionInfo": { padding: "6px 8px", fontFamily: "var(--font)", fontSize: "12px" },
  ".cm-diagnostic": { padding: "4px 8px", fontFamily: "var(--font)", fontSize: "12px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--red)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--red) 1px",
    textUnderlineOffset: "3px",
  },
});

export const PLAIN: Extension = [
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  bracketMatching(),
  closeBrackets(),
  indentUnit.of("  "),
  syntaxHighlighting(LOOKS),
  THEME,
  keymap.of([...lintKeymap, ...historyKeymap, ...defaultKeymap]),
];

export interface Flaw {
  from: number;
  to: number;
  message: string;
}

/** Marks what is wrong, each at its place. */
export function mark(view: EditorView, flaws: readonly Flaw[]): void {
  const end = view.state.doc.length;
  const told: Diagnostic[] = flaws
    .filter((flaw) => flaw.from <= end)
    .map((flaw) => ({ from: flaw.from, to: Math.min(flaw.to, end), severity: "error", message: flaw.message }));
  view.dispatch(setDiagnostics(view.state, told));
}

/** Text that came from elsewhere takes the place of what is there. */
export function replaceAll(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}
