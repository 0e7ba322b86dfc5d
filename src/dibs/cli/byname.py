"""Commands that are one verb of the queue on one name. They print what has become of it, and only with --json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into
from dibs.cli.output import print_json

if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.parsing import Run


def by_name(verb: str, argument: str = "name") -> Run:
    """The command that says this verb to what `argument` names."""

    def run(args: Namespace) -> int:
        with looked_into(args) as queue:
            found = getattr(queue, verb)(getattr(args, argument))
        if args.json:
            print_json(found)
        return 0

    return run
