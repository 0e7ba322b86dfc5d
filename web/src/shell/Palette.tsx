// Go anywhere, find a task, do something: by typing a few letters of it.
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Keyboard, ListTodo, LogOut, Pause, Play, Search as SearchIcon, SunMoon, Workflow } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTasks } from "../api";
import { useLive } from "../live";
import { StatusBadge } from "../ui";
import styles from "./Palette.module.css";
import type { Place } from "./screens";
import { logOut } from "./session";
import { setTheme } from "./theme";

const TASK = /^task_[0-9A-Za-z_-]+$/;
const DAG = /^dag_[0-9A-Za-z_-]+$/;
const FOUND = 6;

export default function Palette({
  places,
  onClose,
  onHelp,
}: {
  places: Place[];
  onClose: () => void;
  onHelp: () => void;
}) {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const live = useLive();
  const wanted = text.trim();
  const found = useTasks(
    { text: wanted, limit: FOUND },
    { enabled: wanted.length >= 3 && !TASK.test(wanted) && !DAG.test(wanted) },
  );
  const go = (run: () => void) => () => {
    onClose();
    run();
  };
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      label="Search and commands"
      overlayClassName={styles.scrim ?? ""}
      contentClassName={styles.palette ?? ""}
      loop
    >
      <div className={styles.field}>
        <SearchIcon aria-hidden />
        <Command.Input
          value={text}
          onValueChange={setText}
          placeholder="A screen, an action, a task's id or words of it …"
          maxLength={200}
        />
      </div>
      <Command.List className={styles.list}>
        <Command.Empty className={styles.empty}>Nothing goes by that name.</Command.Empty>
        {TASK.test(wanted) && (
          <Item
            value={wanted}
            icon={<ListTodo />}
            onSelect={go(() => navigate({ to: "/tasks/$id", params: { id: wanted } }))}
          >
            Open task {wanted}
          </Item>
        )}
        {DAG.test(wanted) && (
          <Item
            value={wanted}
            icon={<Workflow />}
            onSelect={go(() => navigate({ to: "/dags/$id", params: { id: wanted } }))}
          >
            Open dag {wanted}
          </Item>
        )}
        <Command.Group heading="Go to" className={styles.group}>
          {places.map((place) => (
            <Item
              key={place.to}
              value={`go to ${place.name}`}
              icon={<place.icon />}
              keys={place.keys}
              onSelect={go(() => navigate({ to: place.to }))}
            >
              {place.name}
            </Item>
          ))}
        </Command.Group>
        <Command.Group heading="Do" className={styles.group}>
          <Item
            value="pause resume live updates"
            icon={live.paused ? <Play /> : <Pause />}
            keys="p"
            onSelect={go(live.paused ? live.resume : live.pause)}
          >
            {live.paused ? "Go on with live updates" : "Pause live updates"}
          </Item>
          {(["system", "light", "dark"] as const).map((theme) => (
            <Item key={theme} value={`theme ${theme}`} icon={<SunMoon />} onSelect={go(() => setTheme(theme))}>
              Theme: {theme}
            </Item>
          ))}
          <Item value="keyboard keys shortcuts help" icon={<Keyboard />} keys="?" onSelect={go(onHelp)}>
            Show all keys
          </Item>
          <Item value="log out" icon={<LogOut />} onSelect={go(() => void logOut())}>
            Log out
          </Item>
        </Command.Group>
        {wanted.length >= 3 && (found.data?.items.length ?? 0) > 0 && (
          <Command.Group heading="Tasks" className={styles.group}>
            {found.data!.items.map((task) => (
              <Item
                key={task.id}
                // What the server found belongs here, whatever of it matched.
                value={`${wanted} ${task.id}`}
                icon={<ListTodo />}
                onSelect={go(() => navigate({ to: "/tasks/$id", params: { id: task.id } }))}
              >
                <span className={styles.task}>
                  <bdi>{(task.title ?? task.type).slice(0, 200)}</bdi>
                </span>
                <StatusBadge status={task.status} />
              </Item>
            ))}
          </Command.Group>
        )}
      </Command.List>
    </Command.Dialog>
  );
}

function Item({
  value,
  icon,
  keys,
  onSelect,
  children,
}: {
  value: string;
  icon: ReactNode;
  keys?: string;
  onSelect: () => void;
  children: ReactNode;
}) {
  return (
    <Command.Item value={value} onSelect={onSelect} className={styles.item}>
      {icon}
      <span className={styles.label}>{children}</span>
      {keys && <kbd>{keys}</kbd>}
    </Command.Item>
  );
}
