// Why the task is where it is, before anything else: one sentence, each thing that stands in its way, and what helps.
import {
  CircleHelp,
  Clock,
  Flag,
  Hourglass,
  KeyRound,
  Link2,
  type LucideIcon,
  MessageCircleQuestion,
  TrendingUp,
  UserX,
} from "lucide-react";
import { type Schemas, useWhy } from "../../api";
import { Ago, Loaded, StatusBadge, Text } from "../../ui";
import { Answer } from "./Answer";
import { GateActions } from "./GateActions";
import { Ids } from "./links";
import { Overspent } from "./Overspent";
import styles from "./Task.module.css";

type Task = Schemas["Task"];
type Blocker = Schemas["Blocker"];

const ICONS: Record<string, { icon: LucideIcon; name: string }> = {
  dependency: { icon: Link2, name: "Dependency" },
  schedule: { icon: Clock, name: "Schedule" },
  retry: { icon: Clock, name: "Retry" },
  lease: { icon: KeyRound, name: "Lease" },
  gate: { icon: Hourglass, name: "Gate" },
  capability: { icon: UserX, name: "Capability" },
  assignee: { icon: UserX, name: "Assignee" },
  model: { icon: UserX, name: "Model" },
  question: { icon: MessageCircleQuestion, name: "Question" },
  approval: { icon: MessageCircleQuestion, name: "Approval" },
  coalesce: { icon: Hourglass, name: "Group" },
  escalation: { icon: TrendingUp, name: "Escalated" },
  final: { icon: Flag, name: "End" },
};

export function WhyPanel({ task }: { task: Task }) {
  const why = useWhy(task.id);
  return (
    <section className={styles.why} aria-label="Why it is where it is">
      <Loaded of={why} lines={2}>
        {(told) => (
          <>
            <p className={styles.explanation}>
              <StatusBadge status={task.status ?? told.status} parked={task.parked_on ?? null} />
              <Text>{told.explanation}</Text>
            </p>
            {(told.blockers ?? []).length > 0 && (
              <ul className={styles.blockers}>
                {(told.blockers ?? []).map((blocker, index) => (
                  <BlockerRow key={`${blocker.kind} ${index}`} blocker={blocker} task={task} said={told.explanation} />
                ))}
              </ul>
            )}
            {task.status === "dead_lettered" && <Overspent task={task} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function BlockerRow({ blocker, task, said }: { blocker: Blocker; task: Task; said: string }) {
  const { icon: Icon, name } = ICONS[blocker.kind] ?? { icon: CircleHelp, name: blocker.kind };
  const asks = blocker.kind === "question" || blocker.kind === "approval";
  // The sentence may be the detail already; nobody reads the same thing twice.
  const repeated = said.includes(blocker.detail);
  return (
    <li className={styles.blocker}>
      <span className={styles.blockerKind}>
        <Icon aria-hidden />
        {name}
      </span>
      <div className={styles.blockerBody}>
        {!asks && !repeated && <Text>{blocker.detail}</Text>}
        {asks && <Answer taskId={task.id} questionId={blocker.ids?.[0] ?? ""} />}
        <div className={styles.blockerFacts}>
          {blocker.until && (
            <span className="muted">
              until <Ago at={blocker.until} />
            </span>
          )}
          {!asks && <Ids ids={blocker.ids ?? []} except={task.id} />}
          {blocker.help && !asks && (
            <span className={styles.help}>
              <span className="muted">What helps: </span>
              <Text>{blocker.help}</Text>
            </span>
          )}
        </div>
        {blocker.kind === "gate" && <GateActions task={task} gates={blocker.ids ?? []} />}
      </div>
    </li>
  );
}
