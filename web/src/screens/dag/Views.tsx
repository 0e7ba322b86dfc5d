import * as Radix from "@radix-ui/react-tabs";
import type { ReactNode } from "react";
import styles from "./Dag.module.css";

export type View = { id: string; label: string; content: () => ReactNode };

/** Two ways to look at the same thing, each as high as there is room; only the one that is shown is made. */
export function Views({ views, value, onChange }: { views: View[]; value: string; onChange: (id: string) => void }) {
  return (
    <Radix.Root className={styles.views} value={value} onValueChange={onChange}>
      <Radix.List className={styles.switch} aria-label="View">
        {views.map((view) => (
          <Radix.Trigger key={view.id} value={view.id} className={styles.choice}>
            {view.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {views.map((view) => (
        <Radix.Content key={view.id} value={view.id} className={styles.view} tabIndex={-1}>
          {view.content()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
