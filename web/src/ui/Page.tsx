import { type ReactNode, useEffect } from "react";
import styles from "./Page.module.css";
import { cx } from "./classes";

/** The title of the tab, without what needs you; the frame adds that. */
let subject = "";
const watchers = new Set<() => void>();
export const titleStore = {
  subscribe: (changed: () => void) => {
    watchers.add(changed);
    return () => watchers.delete(changed);
  },
  get: () => subject,
};

/** So many characters of a title do not fit beside buttons on a phone. */
const LONG = 32;

type PageProps = {
  /** Also the title of the tab, unless `tab` says another one. */
  title: ReactNode;
  tab?: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** As wide and high as there is room (graphs, big tables): its content scrolls, not the page. */
  full?: boolean;
  children: ReactNode;
};

/** A screen: its title, what can be done here, and its content. */
export function Page({ title, tab, about, actions, full, children }: PageProps) {
  const name = tab ?? (typeof title === "string" ? title : "");
  useEffect(() => {
    subject = name;
    for (const watcher of watchers) watcher();
  }, [name]);
  return (
    <div className={cx(styles.page, full && styles.full)}>
      <header className={styles.head}>
        <div className={cx(styles.titles, name.length > LONG && styles.long)}>
          <h1 className={styles.title}>{title}</h1>
          {about && <p className={styles.about}>{about}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a screen, with a title of its own. */
export function Section({
  title,
  aside,
  flush,
  children,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={styles.section}>
      {(title || aside) && (
        <header className={styles.sectionHead}>
          {title && <h2 className={styles.sectionTitle}>{title}</h2>}
          {aside && <div className={styles.actions}>{aside}</div>}
        </header>
      )}
      <div className={cx(styles.card, flush && styles.flush)}>{children}</div>
    </section>
  );
}
