"""Every command's name, the module that knows it, and a line about it — all that the overview needs."""

from __future__ import annotations

GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Add work",
        (
            ("add", "add", "add one task"),
            ("dag", "dag", "submit a graph of tasks from a file; show or cancel one"),
            ("schedule", "schedule", "make tasks and dags again and again: cron, every, at"),
            ("trigger", "trigger", "make them when something happens: webhook, event, file …"),
        ),
    ),
    (
        "Do work",
        (
            ("run", "host", "make a coding agent, or any command, an agent of the queue"),
            ("worker", "host", "run the handlers of a Python app"),
            ("mcp", "mcp", "serve the queue to an agent that speaks MCP, on stdio"),
            ("init", "init", "make a project ready for agents: AGENTS.md, a skill, MCP"),
            ("prime", "init", "print the rules for an agent, in few words"),
        ),
    ),
    (
        "Do work by hand, one call at a time",
        (
            ("claim", "claim", "take the most urgent task you may work on"),
            ("start", "claim", "say that the work has begun"),
            ("renew", "claim", "keep the lease; report progress; hear of a cancel"),
            ("log", "claim", "add a line to the task's log"),
            ("checkpoint", "claim", "store what the next attempt should know"),
            ("artifact", "artifact", "bytes that tasks leave behind: put, get, list"),
            ("spawn", "claim", "add tasks below the one you hold"),
            ("ask", "people", "ask a person, and let the task wait for the answer"),
            ("complete", "settle", "hand in the output"),
            ("fail", "settle", "say that it did not work, and why"),
            ("release", "settle", "give it back unharmed"),
        ),
    ),
    (
        "See what is going on",
        (
            ("ls", "look", "list tasks"),
            ("show", "look", "everything about one task"),
            ("why", "look", "why a task is not running"),
            ("history", "look", "a task's attempts"),
            ("tree", "tree", "a dag as a tree, with the status of each task"),
            ("agents", "agents", "who works, on what; register, drain or unregister one"),
            ("lanes", "agents", "what is ready, and which live agents can do it"),
            ("locks", "locks", "who holds what, and how many wait for it"),
            ("stats", "look", "counts, lanes, agents; how it has been going"),
            ("top", "top", "a live view of everything"),
            ("gates", "pausing", "what is closed: pauses, breakers, rate limits, full types"),
            ("tail", "follow", "events as they happen"),
            ("transcript", "transcript", "what an agent says and does, live; all that it said"),
            ("wait", "follow", "until a task or dag has ended"),
        ),
    ),
    (
        "Answer",
        (
            ("inbox", "people", "what agents want to know, and what waits for approval"),
            ("answer", "people", "answer a question; approve or refuse a task"),
        ),
    ),
    (
        "Steer",
        (
            ("cancel", "steer", "cancel a task or a dag, and what depends on it"),
            ("retry", "steer", "give a dead-lettered or cancelled task a new life"),
            ("pause", "pausing", "hand out nothing more of a type, to an agent, or at all"),
            ("resume", "pausing", "end a pause"),
            ("breaker", "breaker", "circuit breakers: stop handing out a type that keeps failing"),
            ("escalation", "escalation", "what follows when tasks keep failing: reassign, ask …"),
            ("hook", "hook", "who is told what happens: webhooks, a chat, mail"),
            ("priority", "steer", "change how urgent a task is"),
            ("tag", "steer", "give a task tags, or take them away"),
            ("reassign", "steer", "say which agent a task is for"),
            ("link", "steer", "make a task wait for others"),
            ("budget", "budget", "what may be spent, by type, user, dag or agent; per day"),
            ("rate", "rate", "how many tasks of a type are handed out in a time"),
            ("report", "report", "what the decision reports of a type must say"),
            ("slots", "locks", "how many tasks may hold a lock, or run of a type"),
            ("dlq", "dlq", "dead letters, tasks that were given up: review, retry, drop"),
        ),
    ),
    (
        "Let others in",
        (
            ("token", "token", "who may use a server, and for what: add, list, revoke, rotate"),
            ("login-link", "login", "a link that opens the dashboard, and works once"),
            ("audit", "audit", "what was done to tokens and settings, and what was refused"),
        ),
    ),
    (
        "Look after the store",
        (
            ("up", "up", "serve the queue over HTTP: API, events, schedules, webhooks"),
            ("doctor", "tend", "is everything sound?"),
            ("upgrade", "tend", "bring the store's schema up to date"),
            ("prune", "tend", "delete what ended long ago"),
            ("export", "exchange", "write all tasks to the files of another program: Loki"),
            ("import", "exchange", "add the tasks from the files of another program: Loki"),
            ("migrate", "migrate", "move everything to another store, while it is in use"),
            ("bench", "bench", "how fast this store is on this machine"),
            ("demo", "tend", "watch a small fleet of agents build a landing page"),
        ),
    ),
)

NESTED: dict[str, tuple[tuple[str, str], ...]] = {
    "agents": (
        ("ls", "list agents; so does `dibs agents`"),
        ("register", "say what an agent is, and what it may do"),
        ("drain", "give an agent nothing new"),
        ("unregister", "say that an agent is gone"),
    ),
    "artifact": (
        ("put", "keep a file as an artifact of the task you hold"),
        ("get", "write an artifact's bytes"),
        ("ls", "the artifacts of a task or a dag"),
        ("sweep", "delete bytes that no task refers to"),
    ),
    "audit": (
        ("ls", "the entries: who did what, or was refused"),
        ("verify", "has anybody changed or removed an entry?"),
        ("prune", "drop old entries, with one that says so"),
    ),
    "breaker": (
        ("ls", "the circuit breakers, what they counted and how they are set"),
        ("set", "switch a type's breaker on or off, and set how it works"),
        ("open", "stop handing out a type, until it is tried again"),
        ("close", "let a type flow again"),
        ("reset", "forget what a breaker remembers and how it was set"),
        ("apply", "set breakers as dibs.toml or Loki's circuit-breakers.yaml says"),
    ),
    "budget": (
        ("ls", "what may be used, what is left, how many tasks wait for more"),
        ("set", "let no more than this be used"),
        ("raise", "add to a limit"),
        ("rm", "limit it no longer"),
    ),
    "rate": (
        ("ls", "the types that have a rate, and how many may be handed out now"),
        ("set", "hand out so many tasks of a type in a time"),
        ("rm", "hand out as many as agents ask for"),
    ),
    "report": (
        ("ls", "the types whose decision reports have fields of their own"),
        ("set", "say what the decision reports of a type must say"),
        ("rm", "decision and reasoning will do again"),
    ),
    "dag": (
        ("submit", "add a whole graph of tasks from a YAML or JSON file: all of it or nothing"),
        ("show", "a dag's status and its tasks"),
        ("cancel", "cancel every task of a dag that has not ended"),
    ),
    "dlq": (
        ("ls", "list dead-lettered tasks, newest first"),
        ("show", "one dead letter in full: attempts, cost, decisions"),
        ("review", "decide about dead letters, group by group"),
        ("retry", "give dead-lettered tasks a new life"),
        ("drop", "give up dead-lettered tasks for good"),
        ("keep", "leave dead-lettered tasks as they are"),
        ("escalate", "ask somebody to decide"),
    ),
    "token": (
        ("add", "make a token, and print its secret once"),
        ("ls", "the tokens, their rights, when they end"),
        ("revoke", "end a token"),
        ("rotate", "a new secret with the same rights"),
    ),
    "escalation": (
        ("ls", "every ladder: what follows after how many failures"),
        ("show", "the ladder of a type or dag"),
        ("set", "say what follows after so many failures"),
        ("clear", "forget the ladder of a type or dag"),
        ("apply", "set ladders as dibs.toml says"),
    ),
    "hook": (
        ("add", "tell somebody of events"),
        ("set", "tell it elsewhere, or of other events"),
        ("ls", "every hook, and how telling it goes"),
        ("show", "one hook in full"),
        ("rm", "tell it nothing more"),
        ("pause", "tell it nothing, for now"),
        ("resume", "go on where it stopped"),
        ("rotate", "make a new secret"),
        ("deliveries", "the last tries to tell it"),
        ("replay", "deliver once more what happened after an event"),
        ("test", "send a test message, and see how it goes"),
    ),
    "schedule": (
        ("add", "make a task or a dag at certain times"),
        ("ls", "the schedules, and when they are due next"),
        ("show", "everything about one schedule"),
        ("pause", "let a schedule make nothing for a while"),
        ("resume", "let a paused schedule go on"),
        ("rm", "forget a schedule"),
        ("next", "when a schedule is due next"),
    ),
    "trigger": (
        ("add", "make a task or a dag when something happens"),
        ("ls", "the triggers, what they wait for, how many they made"),
        ("show", "everything about one trigger but its secrets"),
        ("pause", "let a trigger make nothing for a while"),
        ("resume", "let a paused trigger go on"),
        ("rm", "forget a trigger"),
        ("test", "what a trigger would make for an event"),
    ),
}

ALONE = {"agents": "ls"}
"""Families whose name alone is a command: the one that is meant."""


def module_of(name: str) -> str | None:
    """The module below `dibs.cli.commands` that knows this command."""
    for _, commands in GROUPS:
        for command, module, _ in commands:
            if command == name:
                return module
    return None


def summary_of(name: str) -> str:
    """The overview's line about this command."""
    first, _, second = name.partition(" ")
    if second:
        return dict(NESTED[first])[second]
    return next(summary for _, commands in GROUPS for command, _, summary in commands if command == name)


def names() -> list[str]:
    """All command names, in the overview's order."""
    return [command for _, commands in GROUPS for command, _, _ in commands]
