// Hooks: who is told of what, how it went, and how to tell them again.
import { Plus, Webhook } from "lucide-react";
import { useState } from "react";
import { type Schemas, useGet, useMay } from "../../api";
import { Button, Empty, Loaded, Page, Section, ShownOnce } from "../../ui";
import styles from "../../ui/Rows.module.css";
import { HookDialog } from "./HookDialog";
import { Row } from "./Row";

export type Hook = Schemas["Hook"];

export default function Hooks() {
  const may = useMay("GET /v1/hooks");
  // How deliveries go is told by no event.
  const hooks = useGet("/v1/hooks", undefined, { every: 5_000, enabled: may });
  const [editing, setEditing] = useState<Hook | "new" | null>(null);
  const [made, setMade] = useState<Hook | null>(null);
  return (
    <Page
      title="Hooks"
      about="Who is told of events: programs, chats and mailboxes."
      actions={
        may && (
          <Button look="primary" icon={<Plus />} onClick={() => setEditing("new")}>
            Add a hook
          </Button>
        )
      }
    >
      {may ? (
        <Loaded of={hooks} lines={4}>
          {(all) => (
            <Section flush>
              {all.length === 0 ? (
                <Empty title="No hooks" icon={<Webhook />}>
                  Add one to have a program, a chat or a mailbox told of events, each at least once.
                </Empty>
              ) : (
                <ul className={styles.list} aria-label="Hooks">
                  {all.map((each) => (
                    <Row key={each.name} hook={each} onEdit={() => setEditing(each)} onSecret={setMade} />
                  ))}
                </ul>
              )}
            </Section>
          )}
        </Loaded>
      ) : (
        <Section>
          <Empty title="Hooks are for admins" icon={<Webhook />}>
            Log in with a token of an admin to see and change them.
          </Empty>
        </Section>
      )}
      {editing && (
        <HookDialog
          hook={editing === "new" ? null : editing}
          onClose={() => setEditing(null)}
          onMade={(hook) => hook.secret && setMade(hook)}
        />
      )}
      {made?.secret && (
        <ShownOnce
          title={`The secret of ${made.name}`}
          about="What is sent to this hook is signed with it: give it to whoever checks the signatures."
          secret={made.secret}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  );
}
