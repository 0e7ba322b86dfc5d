import * as Radix from "@radix-ui/react-tabs";
import type { ReactNode } from "react";
import styles from "./Tabs.module.css";

export type Tab = { id: string; label: ReactNode; content: ReactNode };

/** Tabs; with `value` and `onChange` somebody else keeps which (such as the address), else they do. */
export function Tabs({
  tabs,
  value,
  onChange,
  label,
}: {
  tabs: Tab[];
  value?: string;
  onChange?: (id: string) => void;
  label: string;
}) {
  return (
    <Radix.Root
      {...(value === undefined ? { defaultValue: tabs[0]?.id ?? "" } : { value })}
      {...(onChange ? { onValueChange: onChange } : {})}
    >
      <Radix.List className={styles.list} aria-label={label}>
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.id} value={tab.id} className={styles.tab}>
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className={styles.content}>
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
