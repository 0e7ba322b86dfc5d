// Slots of types: how many of a kind may run at once.
import { Gauge, Plus, X } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useMay, useSlots } from "../../api";
import {
  Button,
  Columns,
  EditNumber,
  Empty,
  Field,
  FormDialog,
  IconButton,
  Loaded,
  Meter,
  plural,
  Section,
  wrong,
} from "../../ui";
import styles from "../../ui/Rows.module.css";

const put = (type: string, slots: number | null) => call(api.PUT("/v1/slots", { body: { type, slots } }));

export function Slots() {
  const slots = useSlots();
  const maySet = useMay("PUT /v1/slots");
  const [adding, setAdding] = useState(false);
  return (
    <Section
      title="Slots of types"
      flush
      aside={
        maySet && (
          <Button small icon={<Plus />} onClick={() => setAdding(true)}>
            Limit a type
          </Button>
        )
      }
    >
      <Loaded of={slots} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No type is limited" icon={<Gauge />}>
              As many tasks of a type run as agents take.
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Slots of types">
              {all.map((each) => (
                <Row key={each.type} limited={each} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {adding && <Adding onClose={() => setAdding(false)} />}
    </Section>
  );
}

function Row({ limited }: { limited: Schemas["TypeSlots"] }) {
  const maySet = useMay("PUT /v1/slots");
  const { type, slots } = limited;
  const held = limited.held ?? 0;
  const set = useAct((wanted: number | null) => put(type, wanted), {
    done: (_, wanted) =>
      wanted === null ? `Any number of ${type} may run.` : `${plural(wanted, "task")} of ${type} may run at once.`,
    undo: () => put(type, slots),
  });
  return (
    <li className={styles.row} data-type={type}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{type}</strong>
          <span className={styles.aside}>
            {held} of{" "}
            <EditNumber
              value={slots}
              label={`Slots of ${type}`}
              fixed={!maySet}
              onSave={(wanted) => set.mutate(wanted)}
            />{" "}
            run
          </span>
        </div>
        <Meter
          label={`Slots of ${type} in use`}
          of={slots}
          parts={[{ value: held, tone: held >= slots ? "amber" : "blue" }]}
          text={`${held} of ${slots}`}
        />
      </div>
      {maySet && (
        <IconButton small label={`Let any number of ${type} run`} icon={<X />} onClick={() => set.mutate(null)} />
      )}
    </li>
  );
}

function Adding({ onClose }: { onClose: () => void }) {
  const [type, setType] = useState("");
  const [slots, setSlots] = useState("1");
  const add = useAct(() => put(type.trim(), Number(slots)), {
    quiet: true,
    done: `${type.trim()} is limited.`,
    undo: () => put(type.trim(), null),
    onDone: onClose,
  });
  return (
    <FormDialog
      title="Limit a type"
      about="No more of its tasks run at once. What runs already goes on."
      action="Limit"
      onClose={onClose}
      onSubmit={() => add.mutate()}
      busy={add.isPending}
      disabled={!type.trim()}
      error={add.error}
      fields={["type", "slots"]}
    >
      <Columns>
        <Field
          label="Type"
          value={type}
          onChange={(event) => setType(event.target.value)}
          error={wrong(add.error, "type")}
        />
        <Field
          label="At once"
          inputMode="numeric"
          value={slots}
          onChange={(event) => setSlots(event.target.value)}
          error={wrong(add.error, "slots")}
        />
      </Columns>
    </FormDialog>
  );
}
