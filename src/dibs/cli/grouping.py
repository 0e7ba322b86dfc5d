"""Ending a whole group from the shell: what `dibs claim` printed names its tasks, and each is answered for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.output import print_json, print_row
from dibs.cli.values import read_json
from dibs.errors import DibsError, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.model.claim import Settled


def held_or_group(parser: ArgumentParser) -> None:
    """The arguments that name a claim, or one and all in its group."""
    from dibs.cli.parsing import whole

    add = parser.add_argument
    add("id", metavar="ID", nargs="?", help="the task you hold")
    add("--fence", metavar="N", type=whole, help="the fence that `claim` printed")
    add("--group", metavar="JSON|@file|-", help="instead: what `claim` printed; it ends with all in its group")


def group_of(args: Namespace) -> list[tuple[str, int]] | None:
    """Id and fence of each task of the group, the claim's own first; None if one task was named instead."""
    if "group" not in args:
        missing = [written for name, written in (("id", "ID"), ("fence", "--fence")) if name not in args]
        if missing:
            what = f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing"
            raise Invalid(f"{what}; see --help.", field="fence" if "id" in args else "id")
        return None
    if "id" in args or "fence" in args:
        raise Invalid("group says which tasks: leave out ID and --fence.", field="group")
    claim = read_json(args.group, "group")
    try:
        return [(member["task"]["id"], member["fence"]) for member in (claim, *claim.get("group", ()))]
    except (AttributeError, KeyError, TypeError):
        raise Invalid('group must be what `dibs claim` printed: {"task": …, "fence": …}.', field="group") from None


def told(args: Namespace, group: Sequence[tuple[str, int]], answers: Sequence[Settled | DibsError]) -> int:
    """Where each task went, a line each; the exit code of the first that did not go there."""
    if args.json:
        print_json([_as_json(*member, answer) for member, answer in zip(group, answers, strict=True)])
    else:
        for (id, _), answer in zip(group, answers, strict=True):
            status = answer.code if isinstance(answer, DibsError) else answer.status
            print_row((id, status))
    refused = [_refusal(answer) for answer in answers]
    wrong = [error for error in refused if error is not None]
    if wrong:
        count = f"{len(wrong):,} of {len(answers):,} tasks"
        raise _as(wrong[0], f"{count} did not end like this: {wrong[0].message}")
    return 0


def _refusal(answer: Settled | DibsError) -> DibsError | None:
    if isinstance(answer, DibsError):
        return answer
    if answer.outcome != "rejected":
        return None
    what = f"the output is not what {answer.task_id} expects; `dibs history {answer.task_id}` says why."
    return Invalid(what, code="invalid_output", field="output")


def _as(error: DibsError, message: str) -> DibsError:
    return type(error)(message, code=error.code, field=error.field)


def _as_json(id: str, fence: int, answer: Settled | DibsError) -> Any:
    if isinstance(answer, DibsError):
        return {"task_id": id, "fence": fence, "code": answer.code, "message": answer.message, "field": answer.field}
    return answer
