// Which columns the table has.
import * as Popover from "@radix-ui/react-popover";
import { Columns3 } from "lucide-react";
import { Button, Checkbox } from "../../ui";
import { COLUMNS, USUAL } from "./columns";
import styles from "./Tasks.module.css";

export function ColumnsButton({
  chosen,
  choose,
}: {
  chosen: readonly string[];
  choose: (ids: readonly string[]) => void;
}) {
  const toggle = (id: string) => {
    const wanted = COLUMNS.map((column) => column.id).filter((each) =>
      each === id ? !chosen.includes(id) : chosen.includes(each),
    );
    if (wanted.length > 0) choose(wanted);
  };
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <Button icon={<Columns3 />}>Columns</Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className={styles.columns}
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Columns"
        >
          {COLUMNS.map((column) => (
            <Checkbox
              key={column.id}
              label={column.name}
              checked={chosen.includes(column.id)}
              onChange={() => toggle(column.id)}
            />
          ))}
          <div className={styles.columnsFoot}>
            <Button small onClick={() => choose(USUAL)}>
              The usual ones
            </Button>
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
