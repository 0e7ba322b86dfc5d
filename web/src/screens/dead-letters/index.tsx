// Dead letters: what the queue has given up on, in groups that failed alike, and one decision for each group.
import { Skull } from "lucide-react";
import { useId, useState } from "react";
import { useDeadLetters, useStats } from "../../api";
import { useParam } from "../../shell/search";
import { Badge, count, Empty, Field, Loaded, Page, plural, Select, Tabs } from "../../ui";
import styles from "./dead-letters.module.css";
import type { Filter } from "./decide";
import { DecideDialog, type Deciding } from "./DecideDialog";
import { DecisionLog } from "./DecisionLog";
import { type DeadGroup, Group } from "./Group";
import { ModifyDialog } from "./ModifyDialog";

const SINCE = [
  { value: "", label: "died at any time" },
  { value: "1h", label: "in the last hour" },
  { value: "1d", label: "in the last day" },
  { value: "7d", label: "in the last week" },
];
const WHICH = [
  { value: "open", label: "to be decided" },
  { value: "decided", label: "decided about" },
  { value: "all", label: "all" },
];

export default function DeadLetters() {
  const [tab, setTab] = useParam("tab", "groups");
  return (
    <Page title="Dead letters" about="Tasks that ran out of attempts wait here until somebody decides.">
      <Tabs
        label="Dead letters"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "groups", label: "Groups", content: <Groups /> },
          { id: "log", label: "Decisions", content: <DecisionLog /> },
        ]}
      />
    </Page>
  );
}

function Groups() {
  const [type, setType] = useParam("type");
  const [text, setText] = useParam("q");
  const [since, setSince] = useParam("since");
  const [which, setWhich] = useParam("show", "open");
  const [open, setOpen] = useParam("group");
  const [deciding, setDeciding] = useState<{ what: Deciding | "modify"; group: DeadGroup } | null>(null);
  const names = useId();
  const types = Object.entries(useStats().data?.by_type ?? {}).filter(([, counts]) => counts.dead_lettered);
  const filter: Filter = {
    ...(type.trim() ? { type: type.trim() } : {}),
    ...(text.trim() ? { text: text.trim() } : {}),
    ...(since ? { since } : {}),
    ...(which === "all" ? {} : { reviewed: which === "decided" }),
  };
  const groups = useDeadLetters(filter);
  const total = (groups.data ?? []).reduce((sum, each) => sum + (each.count ?? 0), 0);
  const isFiltered = type.trim() !== "" || text.trim() !== "" || since !== "";
  return (
    <div className={styles.groups}>
      <div className={styles.filters}>
        <Field
          label="Type"
          hideLabel
          type="search"
          placeholder="Type"
          list={names}
          value={type}
          onChange={(event) => setType(event.target.value)}
        />
        <datalist id={names}>
          {types.map(([name]) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Field
          label="Words in them"
          hideLabel
          type="search"
          placeholder="Words in title, payload or error"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Select
          label="When they died"
          hideLabel
          value={since}
          onChange={(event) => setSince(event.target.value)}
          choices={SINCE}
        />
        <Select
          label="Which"
          hideLabel
          value={which}
          onChange={(event) => setWhich(event.target.value)}
          choices={WHICH}
        />
      </div>
      <Loaded of={groups} lines={6}>
        {(all) =>
          all.length === 0 ? (
            <div className={styles.nothing}>
              <Empty
                title={isFiltered ? "No dead letters fit" : which === "open" ? "Nothing to decide" : "No dead letters"}
                icon={<Skull />}
              >
                {isFiltered
                  ? "Take away a filter, or look at all of them."
                  : "Tasks that fail for good are shown here, those that failed alike together."}
              </Empty>
            </div>
          ) : (
            <>
              <p className={styles.total} role="status">
                <Badge tone="red">{count(total)}</Badge> dead {total === 1 ? "letter" : "letters"} in{" "}
                {plural(all.length, "group")}
              </p>
              <ul className={styles.list} aria-label="Groups of dead letters">
                {all.map((group) => {
                  const key = `${group.type}/${group.fingerprint}`;
                  return (
                    <Group
                      key={key}
                      group={group}
                      open={open === key}
                      onToggle={() => setOpen(open === key ? "" : key)}
                      onDecide={(what) => setDeciding({ what, group })}
                    />
                  );
                })}
              </ul>
            </>
          )
        }
      </Loaded>
      {deciding && <Decide {...deciding} filter={filter} onClose={() => setDeciding(null)} />}
    </div>
  );
}

type DecideProps = { what: Deciding | "modify"; group: DeadGroup; filter: Filter; onClose: () => void };

function Decide({ what, group, filter, onClose }: DecideProps) {
  const mine: Filter = { ...filter, type: group.type, fingerprint: group.fingerprint };
  if (what === "modify") return <ModifyDialog group={group} filter={mine} onClose={onClose} />;
  return <DecideDialog what={what} type={group.type} filter={mine} onClose={onClose} />;
}
