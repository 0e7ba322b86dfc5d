// A secret that nobody can show again: it stays until who asked for it says that it is kept.
import { type ReactNode, useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Checkbox } from "./Field";
import { CopyButton } from "./Json";
import styles from "./ShownOnce.module.css";

type ShownOnceProps = { title: string; about: ReactNode; secret: string; onClose: () => void; children?: ReactNode };

export function ShownOnce({ title, about, secret, onClose, children }: ShownOnceProps) {
  const [kept, setKept] = useState(false);
  return (
    <Dialog
      open
      // A stray click beside it must not lose it.
      onClose={() => kept && onClose()}
      title={title}
      about={about}
      actions={
        <Button look="primary" disabled={!kept} onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className={styles.body}>
        <div className={styles.secret}>
          <code className={styles.text}>{secret}</code>
          <CopyButton text={secret} label="Copy the secret" />
        </div>
        {children}
        <Checkbox
          label="I have kept it: it cannot be shown again"
          checked={kept}
          onChange={(event) => setKept(event.target.checked)}
        />
      </div>
    </Dialog>
  );
}
