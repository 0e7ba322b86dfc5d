// Dead letters that failed alike: how many, since when, why; what can be decided, and one of them to look at.
import { ChevronRight, Ellipsis, RotateCw, Trash2 } from "lucide-react";
import { useId } from "react";
import { type Schemas, useMay } from "../../api";
import { Ago, Badge, Button, count, cx, IconButton, Menu, Money, plural } from "../../ui";
import styles from "./dead-letters.module.css";
import type { Deciding } from "./DecideDialog";
import { Sample } from "./Sample";

export type DeadGroup = Schemas["DeadGroup"];
type GroupProps = {
  group: DeadGroup;
  open: boolean;
  onToggle: () => void;
  /** What somebody wants to decide about it; asked elsewhere, as the group may vanish while it is decided about. */
  onDecide: (what: Deciding | "modify") => void;
};

export function Group({ group, open, onToggle, onDecide }: GroupProps) {
  const may = useMay("POST /v1/dead-letters/review");
  const body = useId();
  const many = group.count ?? 0;
  return (
    <li className={styles.group} data-group={group.fingerprint} data-type={group.type}>
      <div className={styles.head}>
        <button type="button" className={styles.toggle} aria-expanded={open} aria-controls={body} onClick={onToggle}>
          <ChevronRight aria-hidden className={cx(styles.arrow, open && styles.down)} />
          <span className={styles.count}>{count(many)}</span>
          <span className={styles.what}>
            <span className={styles.title}>
              <b className={styles.type}>{group.type}</b>
              {(group.poison_pills ?? 0) > 0 && (
                <Badge tone="violet">{plural(group.poison_pills ?? 0, "poison pill")}</Badge>
              )}
              {(group.unreviewed ?? 0) < many && (
                <Badge tone="green">{count(many - (group.unreviewed ?? 0))} decided</Badge>
              )}
            </span>
            {/* No links here: it is all one button. */}
            <span className={styles.error} dir="auto">
              {(firstLine(group.error) || group.reason || group.fingerprint).slice(0, 300)}
            </span>
            <span className={styles.facts}>
              <span>
                last <Ago at={group.last_at} />
              </span>
              <span>
                first <Ago at={group.first_at} />
              </span>
              <span>
                cost <Money usd={group.cost_usd} unpriced={group.unpriced ?? 0} />
              </span>
            </span>
          </span>
        </button>
        {may && (
          <div className={styles.does}>
            <Button
              small
              icon={<RotateCw />}
              onClick={() => onDecide("retry")}
              aria-label={`Retry ${many} of ${group.type}`}
            >
              Retry {count(many)}
            </Button>
            <Button
              small
              look="danger"
              icon={<Trash2 />}
              onClick={() => onDecide("drop")}
              aria-label={`Drop ${many} of ${group.type}`}
            >
              Drop
            </Button>
            <Menu
              trigger={<IconButton small label={`More decisions about ${group.type}`} icon={<Ellipsis />} />}
              items={[
                { label: "Retry later…", onSelect: () => onDecide("later") },
                { label: "Modify and retry…", onSelect: () => onDecide("modify") },
                { label: "Escalate…", onSelect: () => onDecide("escalate") },
                { label: "Keep as they are…", onSelect: () => onDecide("keep") },
              ]}
            />
          </div>
        )}
      </div>
      <div id={body}>{open && <Sample group={group} />}</div>
    </li>
  );
}

function firstLine(text: string | null | undefined): string {
  return (text ?? "").trimStart().split("\n", 1)[0] ?? "";
}
