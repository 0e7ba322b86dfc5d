// What is done about something that has a name and goes on until it is paused: a schedule, a trigger, a hook.
import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import type { ReactNode } from "react";
import { keyOf, useAct } from "../api/queries";
import { Button, IconButton } from "./Button";
import { useConfirm } from "./Confirm";
import { Menu, type MenuItem } from "./Menu";
import styles from "./Rows.module.css";

type Listed = "/v1/schedules" | "/v1/triggers" | "/v1/hooks";

type RowActionsProps = {
  /** Where the list of them is. */
  list: Listed;
  /** What it is: "schedule". */
  kind: string;
  name: string;
  paused: boolean;
  /** Pause it, or let it go on. */
  turn: (paused: boolean) => Promise<unknown>;
  /** How the list shows that, before the server has answered. */
  shown: (paused: boolean) => object;
  told: { paused: string; resumed: string };
  remove: () => Promise<unknown>;
  /** What goes with it. */
  removed: ReactNode;
  /** How it is brought back, if it can be. */
  restore?: (() => Promise<unknown>) | undefined;
  items: MenuItem[];
  /** More buttons, before the others. */
  children?: ReactNode;
};

export function RowActions(props: RowActionsProps) {
  const { list, kind, name, paused, turn, shown, told, restore, items, children } = props;
  const client = useQueryClient();
  const confirm = useConfirm();
  const turning = useAct(turn, {
    done: (_, on) => (on ? told.paused : told.resumed),
    undo: (_, on) => turn(!on),
    changes: [list],
  });
  const remove = useAct(props.remove, {
    done: `${name} was removed.`,
    ...(restore ? { undo: restore } : {}),
    changes: [list],
  });
  const turnNow = () => {
    client.setQueryData<{ name: string }[]>(keyOf(list), (known) =>
      known?.map((each) => (each.name === name ? { ...each, ...shown(!paused) } : each)),
    );
    turning.mutate(!paused);
  };
  const askAndRemove = async () => {
    const title = `Remove the ${kind} ${name}?`;
    if (await confirm({ title, body: props.removed, action: "Remove it", danger: true })) remove.mutate();
  };
  return (
    <div className={styles.does}>
      {children}
      <Button small aria-label={`${paused ? "Resume" : "Pause"} ${name}`} busy={turning.isPending} onClick={turnNow}>
        {paused ? "Resume" : "Pause"}
      </Button>
      <Menu
        trigger={<IconButton small label={`More about ${name}`} icon={<Ellipsis />} />}
        items={[...items, "line", { label: "Remove…", danger: true, onSelect: () => void askAndRemove() }]}
      />
    </div>
  );
}
