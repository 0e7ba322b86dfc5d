// Tokens: who may use the server, for what, until when. A secret is shown once.
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAbout, useAct, useGet, useMay } from "../../api";
import { useParam } from "../../shell/search";
import {
  Ago,
  Badge,
  Button,
  Checkbox,
  type Column,
  Empty,
  Loaded,
  millis,
  Page,
  Section,
  serverNow,
  ShownOnce,
  Table,
  Text,
  type Tone,
  useConfirm,
} from "../../ui";
import { RotateDialog, TokenDialog } from "./dialogs";
import styles from "./tokens.module.css";

type Token = Schemas["Token"];
type Issued = Schemas["IssuedToken"];

const ROLES: Record<string, Tone> = { admin: "red", orchestrator: "violet", agent: "cyan", viewer: "gray" };

export default function Tokens() {
  const may = useMay("GET /v1/tokens");
  const [all, setAll] = useParam("all");
  const tokens = useGet("/v1/tokens", { params: { query: { ended: all !== "" } } }, { enabled: may, keep: true });
  const [making, setMaking] = useState(false);
  const [rotating, setRotating] = useState<Token | null>(null);
  const [issued, setIssued] = useState<Issued | null>(null);
  const revoke = useRevoke();
  if (!may) return <NotForYou />;
  return (
    <Page
      title="Tokens"
      about="Each request to the server names one; what it may not do is refused."
      actions={
        <>
          <Checkbox
            label="also ended"
            checked={all !== ""}
            onChange={(event) => setAll(event.target.checked ? "yes" : "")}
          />
          <Button look="primary" icon={<Plus />} onClick={() => setMaking(true)}>
            Create a token
          </Button>
        </>
      }
    >
      <Section flush>
        <Loaded of={tokens} lines={4}>
          {(found) => (
            <Table
              label="Tokens"
              rows={found}
              columns={columns(setRotating, revoke)}
              rowKey={(row) => row.id}
              rowHeight={44}
              empty={<Empty title="No tokens" icon={<KeyRound />} />}
            />
          )}
        </Loaded>
      </Section>
      {making && <TokenDialog onClose={() => setMaking(false)} onIssued={setIssued} />}
      {rotating && <RotateDialog token={rotating} onClose={() => setRotating(null)} onIssued={setIssued} />}
      {issued && (
        <ShownOnce
          title={`The secret of ${issued.name}`}
          about="Whoever has it may do what the token allows. Only its digest is kept: it cannot be shown again."
          secret={issued.secret}
          onClose={() => setIssued(null)}
        />
      )}
    </Page>
  );
}

function useRevoke(): (token: Token) => Promise<void> {
  const confirm = useConfirm();
  const me = useAbout().data?.name;
  const revoke = useAct(
    (token: Token) => call(api.DELETE("/v1/tokens/{token}", { params: { path: { token: token.id } } })),
    {
      done: (_, token) => `${token.name} is revoked: no server takes it any more.`,
      changes: ["/v1/tokens", "/v1/audit"],
    },
  );
  return async (token) => {
    const sure = await confirm({
      title: `Revoke the token ${token.name}?`,
      body:
        token.name === me
          ? "This may be the token you are logged in with. Whoever uses it is refused within a second, and it cannot be taken back."
          : "Whoever uses it is refused within a second. It cannot be taken back.",
      action: "Revoke it",
      danger: true,
    });
    if (sure) revoke.mutate(token);
  };
}

function NotForYou() {
  return (
    <Page title="Tokens">
      <Section>
        <Empty title="Tokens are for admins" icon={<KeyRound />}>
          Log in with a token of an admin to see and change them.
        </Empty>
      </Section>
    </Page>
  );
}

function hasEnded(token: Token): boolean {
  const expires = millis(token.expires_at);
  return token.revoked_at != null || (expires !== null && expires <= serverNow());
}

function limits(token: Token): string {
  return [
    token.types ? `types ${token.types.join(", ")}` : "",
    token.max_depth != null ? `${token.max_depth} deep` : "",
    token.max_children != null ? `${token.max_children} children` : "",
    token.max_cost != null ? `$${token.max_cost} at once` : "",
  ]
    .filter(Boolean)
    .join("; ");
}

function columns(onRotate: (token: Token) => void, onRevoke: (token: Token) => Promise<void>): Column<Token>[] {
  return [
    {
      id: "name",
      header: "Name",
      sort: (row) => row.name,
      cell: (row) => (
        <div className={styles.name}>
          <b>
            <Text lines={1}>{row.name}</Text>
          </b>
          {row.project !== "default" && (
            <span className={styles.small}>
              <Text lines={1}>{row.project}</Text>
            </span>
          )}
        </div>
      ),
    },
    {
      id: "role",
      header: "Role",
      width: "112px",
      sort: (row) => row.role,
      cell: (row) => <Badge tone={ROLES[row.role] ?? "gray"}>{row.role}</Badge>,
    },
    {
      id: "limits",
      header: "Limits",
      width: "20%",
      from: 1024,
      cell: (row) => (
        <span className={styles.small}>
          <Text lines={2}>{limits(row)}</Text>
        </span>
      ),
    },
    {
      id: "used",
      header: "Used",
      width: "90px",
      from: 720,
      sort: (row) => row.last_used_at,
      cell: (row) => (row.last_used_at ? <Ago at={row.last_used_at} /> : <span className="muted">not yet</span>),
    },
    {
      id: "made",
      header: "Made",
      width: "16%",
      from: 1024,
      sort: (row) => row.created_at,
      cell: (row) => (
        <span className={styles.small}>
          <Ago at={row.created_at} />
          {row.created_by && (
            <>
              {" by "}
              <Text lines={1}>{row.created_by}</Text>
            </>
          )}
        </span>
      ),
    },
    {
      id: "ends",
      header: "Ends",
      width: "100px",
      from: 480,
      sort: (row) => row.revoked_at ?? row.expires_at,
      cell: (row) =>
        row.revoked_at ? (
          <Badge tone="red">revoked</Badge>
        ) : hasEnded(row) ? (
          <Badge>expired</Badge>
        ) : row.expires_at ? (
          <Ago at={row.expires_at} />
        ) : (
          <span className="muted">never</span>
        ),
    },
    {
      id: "do",
      header: "Actions",
      width: "154px",
      align: "end",
      cell: (row) =>
        hasEnded(row) ? null : (
          <div className={styles.does}>
            <Button small onClick={() => onRotate(row)} aria-label={`Rotate ${row.name}`}>
              Rotate
            </Button>
            <Button small look="danger" onClick={() => void onRevoke(row)} aria-label={`Revoke ${row.name}`}>
              Revoke
            </Button>
          </div>
        ),
    },
  ];
}
