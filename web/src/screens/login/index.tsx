// The way in: a token, or a link that works once.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import type { Search } from "../../shell/search";
import { homeward, logIn } from "../../shell/session";
import { Button, Field } from "../../ui";
import styles from "./Login.module.css";

export default function Login() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const tried = useRef(false);
  const next = homeward(search.next);

  const enter = async (given: { token: string } | { once: string }) => {
    setBusy(true);
    setError(null);
    try {
      await logIn(given);
      client.clear();
      await navigate({ href: next, replace: true });
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : String(caught));
      setBusy(false);
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a link is tried once
  useEffect(() => {
    document.title = "Log in · dibs";
    const once = search.once;
    if (!once || tried.current) return;
    tried.current = true;
    // The code is used up: it need not stay in the address, or the history.
    void navigate({ to: ".", search: (search.next ? { next: search.next } : {}) as never, replace: true });
    void enter({ once });
  }, []);

  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void enter({ token: token.trim() });
  };
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={onSubmit}>
        <h1 className={styles.title}>dibs</h1>
        <Field
          label="Token"
          name="token"
          type="password"
          autoComplete="current-password"
          placeholder="dibs_…"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          error={error}
          required
          autoFocus
        />
        <Button type="submit" look="primary" busy={busy} disabled={!token.trim()}>
          Log in
        </Button>
        <p className={styles.about}>
          No token? On the server's machine, <code>dibs login-link</code> prints a link that logs you in, once.
        </p>
      </form>
    </main>
  );
}
