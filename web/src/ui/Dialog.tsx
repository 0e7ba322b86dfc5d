import * as Radix from "@radix-ui/react-dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import styles from "./Dialog.module.css";
import { cx } from "./classes";

type DialogProps = {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** One sentence under the title. */
  about?: ReactNode;
  children?: ReactNode;
  /** Buttons, the one that does it last. */
  actions?: ReactNode;
  wide?: boolean;
};

export function Dialog({ open, onClose, title, about, children, actions, wide }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.scrim} />
        <Radix.Content
          className={cx(styles.dialog, wide && styles.wide)}
          onOpenAutoFocus={begin}
          {...(about ? {} : { "aria-describedby": undefined })}
        >
          <header className={styles.head}>
            <Radix.Title className={styles.title}>{title}</Radix.Title>
            {/* Without a tooltip: while it had the focus, the tooltip would take the first Escape. */}
            <Radix.Close asChild>
              <Button small look="quiet" aria-label="Close" icon={<X />} />
            </Radix.Close>
          </header>
          {about && <Radix.Description className={styles.about}>{about}</Radix.Description>}
          {children && <div className={styles.body}>{children}</div>}
          {actions && <footer className={styles.actions}>{actions}</footer>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What is written first has the focus; else the dialog itself, not the button that closes it. */
function begin(event: Event): void {
  const dialog = event.currentTarget as HTMLElement;
  const first = dialog.querySelector<HTMLElement>("input:not([type=checkbox]), textarea, select");
  event.preventDefault();
  (first ?? dialog).focus();
}
