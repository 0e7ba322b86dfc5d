// Views as one row of buttons: those that are there from the start, then those that were saved here.
import { BookmarkPlus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, Dialog, Field, IconButton } from "../../ui";
import styles from "./Tasks.module.css";
import { BUILT_IN, forgetView, savedViews, saveView } from "./views";

export function ViewBar({ query, onQuery }: { query: string; onQuery: (query: string) => void }) {
  const [saved, setSaved] = useState(savedViews);
  const [naming, setNaming] = useState<string | null>(null);
  const current = saved.find((view) => view.query === query);
  const known = current !== undefined || BUILT_IN.some((view) => view.query === query);
  const name = naming?.trim() ?? "";
  const taken = BUILT_IN.some((view) => view.name.toLowerCase() === name.toLowerCase());
  const save = () => {
    if (name === "" || taken) return;
    setSaved(saveView({ name, query }));
    setNaming(null);
  };
  return (
    <nav className={styles.views} aria-label="Views">
      {[...BUILT_IN, ...saved].map((view) => (
        <button
          key={view.name}
          type="button"
          className={styles.view}
          aria-pressed={view.query === query}
          title={view.query || "every task"}
          onClick={() => onQuery(view.query)}
        >
          {view.name}
        </button>
      ))}
      {!known && (
        <Button small look="quiet" icon={<BookmarkPlus />} onClick={() => setNaming("")}>
          Save view
        </Button>
      )}
      {current !== undefined && (
        <IconButton
          small
          label={`Forget the view ${current.name}`}
          icon={<Trash2 />}
          onClick={() => setSaved(forgetView(current.name))}
        />
      )}
      {naming !== null && (
        <Dialog
          open
          onClose={() => setNaming(null)}
          title="Save this view"
          about="It is kept in this browser."
          actions={
            <>
              <Button onClick={() => setNaming(null)}>Back</Button>
              <Button look="primary" disabled={name === "" || taken} onClick={save}>
                Save
              </Button>
            </>
          }
        >
          <form
            onSubmit={(event) => {
              event.preventDefault();
              save();
            }}
          >
            <Field
              label="Name"
              value={naming}
              maxLength={60}
              onChange={(event) => setNaming(event.target.value)}
              error={taken ? "There is a view of this name already." : undefined}
              about={query}
            />
          </form>
        </Dialog>
      )}
    </nav>
  );
}
