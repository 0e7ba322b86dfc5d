// Around all screens: navigation, palette, keys, theme, whether the page is live, and who is looking.
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import {
  Command as CommandIcon,
  LogOut,
  Menu as MenuIcon,
  Monitor,
  Moon,
  Pause,
  Play,
  Search as SearchIcon,
  Sun,
  X,
} from "lucide-react";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { patiently } from "../api/patiently";
import { onAnswer, useAbout, useDeadLetters, useInbox } from "../api";
import { ROLES } from "../api/roles";
import { useLive, useLiveQueries } from "../live";
import { Button, cx, Dialog, IconButton, type Key, setServerClock, Skeleton, useKeys } from "../ui";
import { titleStore } from "../ui/Page";
import styles from "./Frame.module.css";
import { GROUPS, type Place } from "./screens";
import { logOut } from "./session";
import { setTheme, useTheme } from "./theme";

const Palette = lazy(patiently(() => import("./Palette")));

export function Frame() {
  const { pathname } = useLocation();
  return pathname === "/login" ? (
    <Suspense>
      <Outlet />
    </Suspense>
  ) : (
    <Inside />
  );
}

function Inside() {
  const about = useAbout();
  const known = about.data !== undefined;
  useLoginWhenDenied();
  useLiveQueries(known);
  useEffect(() => {
    if (about.data?.now) setServerClock(about.data.now / 1_000, about.dataUpdatedAt);
  }, [about.data?.now, about.dataUpdatedAt]);

  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const live = useLive();
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when one has arrived elsewhere
  useEffect(() => setMenu(false), [pathname]);

  const role = about.data?.role;
  const places = GROUPS.flatMap((group) => group.places).filter((place) => isFor(place, role));
  const keys: Key[] = [
    ...places.map((place) => ({ keys: place.keys, about: place.name, run: () => void navigate({ to: place.to }) })),
    { keys: "/", about: "Search in this screen, else the palette", run: () => focusSearch() || setPalette(true) },
    {
      keys: "p",
      about: live.paused ? "Go on with live updates" : "Pause live updates",
      run: live.paused ? live.resume : live.pause,
    },
    { keys: "?", about: "These keys", run: () => setHelp(true) },
  ];
  useKeys(keys);
  useEffect(() => {
    const on = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPalette((open) => !open);
      }
    };
    window.addEventListener("keydown", on);
    return () => window.removeEventListener("keydown", on);
  }, []);

  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.bar}>
        <IconButton
          label={menu ? "Close menu" : "Menu"}
          icon={menu ? <X /> : <MenuIcon />}
          onClick={() => setMenu(!menu)}
        />
        <Link to="/" className={styles.mark}>
          dibs
        </Link>
        <IconButton label="Search and commands" icon={<SearchIcon />} onClick={() => setPalette(true)} />
      </header>
      <aside className={cx(styles.side, menu && styles.open)}>
        <div className={styles.brand}>
          <Link to="/" className={styles.mark}>
            dibs
          </Link>
          {about.data && about.data.project !== "default" && (
            <span className={styles.project}>{about.data.project}</span>
          )}
        </div>
        <button type="button" className={styles.search} onClick={() => setPalette(true)}>
          <CommandIcon aria-hidden /> Go to, find, do … <kbd>{isMac() ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <nav aria-label="Screens" className={styles.nav}>
          {GROUPS.map((group) => {
            const shown = group.places.filter((place) => isFor(place, role));
            if (!shown.length) return null;
            return (
              <div key={group.name}>
                <p className={styles.group}>{group.name}</p>
                <ul>
                  {shown.map((place) => (
                    <li key={place.to}>
                      <Link
                        to={place.to}
                        className={styles.place}
                        activeProps={{ "aria-current": "page" }}
                        activeOptions={{ exact: place.to === "/", includeSearch: false }}
                      >
                        <place.icon aria-hidden />
                        <span>{place.name}</span>
                        {known && place.to === "/" && <NeedsYou />}
                        {known && place.to === "/dead-letters" && <DeadCount />}
                      </Link>
                    </li>
                  ))}
                </ul>
              </div>
            );
          })}
        </nav>
        <footer className={styles.foot}>
          <LiveButton />
          <div className={styles.who}>
            <span className={styles.name} title={about.data ? `${about.data.name}, ${about.data.role}` : ""}>
              <bdi>{about.data?.name ?? "…"}</bdi>
              <span className="muted"> · {role ?? ""}</span>
            </span>
            <ThemeButton />
            <IconButton small label="Log out" icon={<LogOut />} onClick={() => void logOut()} />
          </div>
        </footer>
      </aside>
      <main id="content" className={styles.content} tabIndex={-1}>
        <Lost />
        {known ? (
          <Suspense fallback={<Skeleton lines={6} />}>
            <Outlet />
          </Suspense>
        ) : (
          <div className={styles.wait}>
            <Skeleton lines={6} />
          </div>
        )}
      </main>
      {known && <Title />}
      {palette && (
        <Suspense>
          <Palette places={places} onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />
        </Suspense>
      )}
      <KeysDialog open={help} onClose={() => setHelp(false)} keys={keys} />
    </div>
  );
}

function isFor(place: Place, role: string | undefined): boolean {
  return place.needs === undefined || (role !== undefined && (ROLES[place.needs] as readonly string[]).includes(role));
}

/** The field of this screen that is for searching: `<input data-search>`. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>("#content [data-search]");
  field?.focus();
  return field !== null && field !== undefined;
}

function isMac(): boolean {
  return navigator.userAgent.includes("Mac");
}

/** A token that is not valid any more: back to the login, and from there to where one was. */
function useLoginWhenDenied(): void {
  const navigate = useNavigate();
  const client = useQueryClient();
  useEffect(
    () =>
      onAnswer((status) => {
        if (status !== 401) return;
        const next = window.location.pathname + window.location.search;
        client.clear();
        void navigate({ to: "/login", search: (next === "/" ? {} : { next }) as never, replace: true });
      }),
    [navigate, client],
  );
}

export function useNeedsYou(): number {
  return useInbox().data?.length ?? 0;
}

function NeedsYou() {
  const count = useNeedsYou();
  return count ? (
    <span className={cx(styles.count, styles.needs)}>
      {count >= 100 ? "99+" : count}
      <span className="visually-hidden"> need you</span>
    </span>
  ) : null;
}

function DeadCount() {
  const groups = useDeadLetters({ reviewed: false }).data;
  const count = groups?.reduce((sum, group) => sum + group.unreviewed, 0) ?? 0;
  return count ? (
    <span className={styles.count}>
      {count >= 1_000 ? "999+" : count}
      <span className="visually-hidden"> not reviewed</span>
    </span>
  ) : null;
}

/** The tab says how many need you, then which screen it is. */
function Title() {
  const count = useNeedsYou();
  const subject = useSyncExternalStore(titleStore.subscribe, titleStore.get);
  useEffect(() => {
    document.title = `${count ? `(${count >= 100 ? "99+" : count}) ` : ""}${subject ? `${subject} · ` : ""}dibs`;
  }, [count, subject]);
  return null;
}

function LiveButton() {
  const live = useLive();
  const words = {
    live: "Live",
    connecting: "Connecting …",
    lost: "Server lost",
    denied: "Logged out",
    paused: "Paused",
  }[live.state];
  return (
    <button
      type="button"
      className={cx(styles.live, styles[live.state])}
      onClick={live.paused ? live.resume : live.pause}
      title={live.paused ? "Go on with live updates (p)" : "Pause live updates (p)"}
      aria-label={live.paused ? "Paused. Go on with live updates" : `${words}. Pause live updates`}
    >
      <span className={styles.dot} aria-hidden />
      <span>{words}</span>
      {live.paused ? <Play aria-hidden /> : <Pause aria-hidden />}
    </button>
  );
}

/** While the server does not answer; goes away by itself. */
function Lost() {
  const live = useLive();
  const [slow, setSlow] = useState(false);
  const lost = live.state === "lost";
  useEffect(() => {
    if (!lost) {
      setSlow(false);
      return;
    }
    const timer = setTimeout(() => setSlow(true), 700);
    return () => clearTimeout(timer);
  }, [lost]);
  if (!slow) return null;
  return (
    <div className={styles.lost} role="alert">
      The server does not answer. What you see is from before; this page goes on by itself as soon as it is back.
      <Button small onClick={live.retry}>
        Try now
      </Button>
    </div>
  );
}

function ThemeButton() {
  const theme = useTheme();
  const next = theme === "system" ? "light" : theme === "light" ? "dark" : "system";
  const icon = theme === "system" ? <Monitor /> : theme === "light" ? <Sun /> : <Moon />;
  return <IconButton small label={`Theme: ${theme}. Change to ${next}`} icon={icon} onClick={() => setTheme(next)} />;
}

function KeysDialog({ open, onClose, keys }: { open: boolean; onClose: () => void; keys: Key[] }) {
  const more = [
    { keys: isMac() ? "⌘ K" : "Ctrl K", about: "Search and commands" },
    { keys: "j k ↑ ↓", about: "Next or previous row of a table" },
    { keys: "Enter", about: "Open the row" },
    { keys: "x Space", about: "Select the row" },
  ];
  return (
    <Dialog open={open} onClose={onClose} title="Keys">
      <dl className={styles.keys}>
        {[...more, ...keys].map((key) => (
          <div key={key.keys}>
            <dt>
              {key.keys.split(" ").map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dt>
            <dd>{key.about}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
