import * as Radix from "@radix-ui/react-dropdown-menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import styles from "./Menu.module.css";
import { cx } from "./classes";

export type MenuItem =
  | {
      label: ReactNode;
      icon?: ReactNode;
      danger?: boolean;
      disabled?: boolean;
      checked?: boolean;
      onSelect: () => void;
    }
  | "line";

/** A list of actions below a button: `<Menu label="More" trigger={<IconButton …/>} items={[…]} />`. */
export function Menu({
  trigger,
  items,
  align = "end",
}: {
  trigger: ReactElement;
  items: MenuItem[];
  align?: "start" | "end";
}) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles.menu} align={align} sideOffset={4} collisionPadding={8}>
          {items.map((item, index) =>
            item === "line" ? (
              <Radix.Separator key={index} className={styles.line} />
            ) : (
              <Radix.Item
                key={index}
                className={cx(styles.item, item.danger && styles.danger)}
                disabled={item.disabled ?? false}
                onSelect={item.onSelect}
              >
                {item.icon}
                <span className={styles.label}>{item.label}</span>
                {item.checked && <Check aria-label="chosen" />}
              </Radix.Item>
            ),
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
