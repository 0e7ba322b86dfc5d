"""Every key of a namespace: what it holds, of which type, and how long it stays.

All keys of a namespace begin with the same text, in which its name is the hash tag: they live on one node of a cluster.
Names from outside stand at the end of a key, after a word of ours and a colon, or in the fields of hashes: they cannot
meet another key. Nothing here has a time to live; `prune` deletes what has ended.
"""

from __future__ import annotations

FAMILIES = ("t", "in", "out", "ch", "d", "m", "lock", "budget", "o", "docs", "names")
"""The words before names from outside."""


class Keys:
    """The keys of one namespace; `prefix` ends with a colon."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

        self.meta = prefix + "meta"
        """Hash: layout, version (of the whole namespace), and the last number of tasks, events, edges, marks."""
        self.turn = prefix + "turn"
        """String, gone after two seconds: whose turn it is to write, when many want to at once."""
        self.done = prefix + "done"
        """Sorted set: which writes were committed in the last minute, by time."""
        self.taken = prefix + "taken"
        """Hash: what some of those took. As long as they are known."""

        self.all = prefix + "all"
        """Sorted set: the id of every task by its number."""
        self.lanes = prefix + "lanes"
        """Hash: lanes by number. They stay."""
        self.keys = prefix + "keys"
        self.dag_keys = prefix + "dag_keys"
        """Hashes: whose a key is. As long as the task or dag."""
        self.dags = prefix + "dags"
        """Sorted set: the ids of dags that have a hash, in their order. As long as the hash."""
        self.questions = prefix + "questions"
        """Hash: the task of a question. As long as the task."""

        self.locks = prefix + "locks"
        self.budgets = prefix + "budgets"
        """Sets: the names of those that have a hash. As long as the hash."""
        self.windows = prefix + "windows"
        """Hash: until when the window of a budget lasts. As long as the budget."""

        self.documents = prefix + "documents"
        """Set: the projects and kinds that have documents. As long as those."""

        self.marked = prefix + "marked"
        self.closing = prefix + "closing"
        self.grown = prefix + "grown"
        """Hashes: tasks and dags that a duty must look at, in their order. Until it has."""

        self.pauses = prefix + "pauses"
        self.breakers = prefix + "breakers"
        self.overrides = prefix + "overrides"
        self.ladders = prefix + "ladders"
        self.backoffs = prefix + "backoffs"
        self.type_slots = prefix + "type_slots"
        self.rates = prefix + "rates"
        self.duties = prefix + "duties"
        """Hashes: what was set or is remembered, by its name. Until it is taken back."""

        self.agents = prefix + "agents"
        """Hash: who was heard of. As long as retention."""
        self.claims = prefix + "claims"
        self.claimed = prefix + "claimed"
        """Hash and sorted set: what a claim id was answered with, and when. As long as retention."""

        self.counts = prefix + "counts"
        self.costs = prefix + "costs"
        """Hashes: how many tasks there are by project, type and status, but for those that are ready: their lanes have
        them; what they cost. They follow the tasks."""

        self.events = prefix + "events"
        """Stream: the outbox; ids are `SEQ-0`. As long as retention."""

        self.channel = prefix + "news"
        """Channel: somebody committed something."""

    def knows(self, key: str) -> bool:
        """Whether this is the name of one of these keys."""
        rest = key.removeprefix(self.prefix)
        return rest.partition(":")[0] in FAMILIES if ":" in rest else key != self.channel and key in vars(self).values()

    def task(self, task_id: str) -> str:
        """Hash: all of a task but its edges. As long as retention after its end."""
        return f"{self.prefix}t:{task_id}"

    def edges_into(self, task_id: str) -> str:
        """Hash: the edges into a task. As long as the task."""
        return f"{self.prefix}in:{task_id}"

    def edges_out_of(self, task_id: str) -> str:
        """Hash: the same edges, by their other end."""
        return f"{self.prefix}out:{task_id}"

    def children(self, task_id: str) -> str:
        """Sorted set: tasks that a task spawned, by number. As long as those."""
        return f"{self.prefix}ch:{task_id}"

    def dag(self, dag_id: str) -> str:
        """Hash: the row of a dag. As long as its tasks."""
        return f"{self.prefix}d:{dag_id}"

    def members(self, dag_id: str) -> str:
        """Sorted set: the tasks of a dag by number, without the one that it is named after. As long as those."""
        return f"{self.prefix}m:{dag_id}"

    def lock(self, name: str) -> str:
        """Hash: slots, holders, and who is parked. While any of that differs from nothing."""
        return f"{self.prefix}lock:{name}"

    def budget(self, name: str) -> str:
        """Hash: limit, reservations, and who is parked. Until it is removed."""
        return f"{self.prefix}budget:{name}"

    def documents_of(self, place: str) -> str:
        """Hash: the documents of a kind in a project. Until they are removed."""
        return f"{self.prefix}docs:{place}"

    def document_names(self, place: str) -> str:
        """Sorted set: their names. As long as those."""
        return f"{self.prefix}names:{place}"

    def order(self, name: str) -> str:
        """Sorted set: tasks by what `layout.places` says. While they are there."""
        return f"{self.prefix}o:{name}"
