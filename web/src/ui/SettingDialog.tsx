// A setting that somebody makes or changes, in a form. It begins with what the setting says at that moment; what
// somebody else made of it meanwhile is shown, not overwritten.
import { type ReactNode, useState } from "react";
import type { Refused } from "../api/client";
import { type Look, type Seen, useEditing, useSeen } from "../api/edits";
import { useAct } from "../api/queries";
import { Dialog } from "./Dialog";
import { Conflict, FormDialog, wrong } from "./FormDialog";
import { Loaded } from "./States";

type Change = { target: { value: string } };

/** What the fields of a form need. */
export type Form<D> = {
  draft: D;
  change: (changes: Partial<D>) => void;
  /** What the server said about one of these fields. */
  wrong: (...names: string[]) => string | undefined;
  /** The value of a text field, how it changes, and what is wrong with it; `name`: as the server calls it. */
  text: (key: keyof D & string, name?: string) => { value: string; onChange: (event: Change) => void; error?: string };
};

type SettingDialogProps<T, D, O> = {
  title: string;
  about?: ReactNode;
  wide?: boolean;
  /** How to look at the one that is changed; null: it is new. */
  look: Look<T> | null;
  draftOf: (known: T | null) => D;
  /** Whether enough of it is written to be sent. */
  isWhole: (draft: D) => boolean;
  /** Keep it; `version`: the one that was seen, null if it is new. */
  put: (draft: D, version: string | null) => Promise<O>;
  done: (draft: D) => string;
  onDone?: (kept: O) => void;
  onClose: () => void;
  /** What it says, in one line, for whoever wanted to say something else. */
  terms: (theirs: T) => ReactNode;
  /** Fields, as the server calls them, that say themselves what is wrong with them. */
  fields: readonly string[];
  children: (form: Form<D>) => ReactNode;
};

export function SettingDialog<T, D extends object, O = T>(props: SettingDialogProps<T, D, O>) {
  return props.look ? <Existing {...props} look={props.look} /> : <Writing {...props} known={null} />;
}

function Existing<T, D extends object, O>(props: SettingDialogProps<T, D, O> & { look: Look<T> }) {
  const found = useSeen([props.title], props.look);
  if (found.data) return <Writing {...props} known={found.data} />;
  return (
    <Dialog open onClose={props.onClose} title={props.title}>
      <Loaded of={found}>{() => null}</Loaded>
    </Dialog>
  );
}

const NEVER = () => Promise.reject(new Error("there is nothing to look at"));

function Writing<T, D extends object, O>(props: SettingDialogProps<T, D, O> & { known: Seen<T> | null }) {
  const { title, about, wide, look, draftOf, isWhole, put, done, onDone, onClose, terms, fields, known } = props;
  const [draft, setDraft] = useState(() => draftOf(known?.value ?? null));
  const editing = useEditing<T>(known, look ?? NEVER);
  const save = useAct(() => editing.send((version) => put(draft, version)), {
    quiet: true,
    done: done(draft),
    onDone: (kept) => {
      onClose();
      onDone?.(kept);
    },
  });
  const { theirs } = editing;
  const change = (changes: Partial<D>) => setDraft({ ...draft, ...changes });
  const form: Form<D> = {
    draft,
    change,
    wrong: (...names) => wrong(save.error, ...names),
    text: (key, name = key) => {
      const error = wrong(save.error, name);
      return {
        value: String(draft[key]),
        onChange: (event) => {
          change({ [key]: event.target.value } as unknown as Partial<D>);
          // It was said about what stood there before.
          if (error) save.reset();
        },
        ...(error ? { error } : {}),
      };
    },
  };
  return (
    <FormDialog
      title={title}
      {...(about ? { about } : {})}
      {...(wide ? { wide } : {})}
      action={theirs ? "Replace with mine" : "Save"}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      disabled={!isWhole(draft)}
      error={theirs ? null : (save.error as Refused | null)}
      fields={fields}
    >
      {theirs && (
        <Conflict
          now={terms(theirs)}
          onTake={() => {
            setDraft(draftOf(theirs));
            editing.taken();
          }}
        />
      )}
      {props.children(form)}
    </FormDialog>
  );
}
