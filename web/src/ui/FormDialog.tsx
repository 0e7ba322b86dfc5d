// A form in a dialog: Enter sends it, what the server refuses is said beside the field it names.
import { type ReactNode, useId } from "react";
import type { Refused } from "../api/client";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import styles from "./FormDialog.module.css";

type FormDialogProps = {
  onClose: () => void;
  title: ReactNode;
  about?: ReactNode;
  /** What the button says that sends it. */
  action: string;
  danger?: boolean;
  busy?: boolean;
  disabled?: boolean;
  error?: Refused | Error | null;
  /** Fields that say themselves what is wrong with them. */
  fields?: readonly string[];
  onSubmit: () => void;
  wide?: boolean;
  /** More buttons, left of the others. */
  more?: ReactNode;
  children?: ReactNode;
};

export function FormDialog(props: FormDialogProps) {
  const {
    onClose,
    title,
    about,
    action,
    danger,
    busy,
    disabled,
    error,
    fields = [],
    onSubmit,
    wide,
    more,
    children,
  } = props;
  const id = useId();
  const field = error && "field" in error ? error.field : null;
  const said = error && !(field && fields.includes(field)) ? error.message : null;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      {...(about ? { about } : {})}
      {...(wide ? { wide } : {})}
      actions={
        <>
          {more && <div className={styles.more}>{more}</div>}
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            form={id}
            look={danger ? "danger" : "primary"}
            busy={busy ?? false}
            disabled={disabled ?? false}
          >
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className={styles.form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          // A dialog is drawn elsewhere, but its events go up to who opened it, which may be a form as well.
          event.stopPropagation();
          if (!busy && !disabled) onSubmit();
        }}
      >
        {children}
        {said && (
          <p className={styles.error} role="alert">
            {said}
          </p>
        )}
      </form>
    </Dialog>
  );
}

/** What is wrong with a field, in the server's words. */
export function wrong(error: Refused | Error | null | undefined, ...names: string[]): string | undefined {
  return error && "field" in error && error.field && names.includes(error.field) ? error.message : undefined;
}

/** Fields side by side, as far as there is room. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className={styles.columns}>{children}</div>;
}

type NoticeProps = { tone?: "amber" | "red" | "green" | "gray"; children: ReactNode; action?: ReactNode };

/** Something to know before going on. */
export function Notice({ tone = "amber", children, action }: NoticeProps) {
  return (
    <div className={styles.notice} data-tone={tone} role="status">
      <div className={styles.noticeText}>{children}</div>
      {action}
    </div>
  );
}

/** Somebody else changed it while it was edited: what it says now, and the way to take that. */
export function Conflict({ now, onTake }: { now: ReactNode; onTake: () => void }) {
  return (
    <Notice
      action={
        <Button small onClick={onTake}>
          Take theirs
        </Button>
      }
    >
      <strong>Somebody changed this while you were editing.</strong> It now says: {now}. Saving again replaces that with
      yours.
    </Notice>
  );
}
