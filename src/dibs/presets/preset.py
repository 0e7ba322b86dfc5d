"""What a preset says of its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from dibs.presets.reader import Reader

Option = tuple[tuple[str, ...], tuple[str, ...]]
"""Arguments that are added unless the user gave one of the options named first."""


class Preset(Struct, frozen=True, kw_only=True):
    """One program. `version` is the one that its command line and output were read from.

    `always`: its arguments. `unless`: those added where the user says nothing about it: first the options that speak of
    it, then the arguments. `model`, `max_cost`, `max_turns`: the options that take these, if it has them. The prompt is
    on its stdin, or in a file that `prompt_file` names. `environment` is added to its environment; `debris` are files
    that it leaves beside its work, as patterns of git.
    """

    name: str
    program: str
    version: str
    always: tuple[str, ...] = ()
    unless: tuple[Option, ...] = ()
    model: tuple[str, ...] = ()
    max_cost: str | None = None
    max_turns: str | None = None
    prompt_file: str | None = None
    environment: Mapping[str, str] = {}
    debris: tuple[str, ...] = ()
    reader: Callable[[], Reader]

    def command(
        self,
        extra: tuple[str, ...] = (),
        *,
        model: str | None = None,
        max_cost: float | None = None,
        max_turns: int | None = None,
        prompt_file: str | None = None,
    ) -> list[str]:
        """The whole argument list. What the user wrote himself (`extra`) is never said twice, and stands last."""
        argv = [self.program, *self.always]
        for names, arguments in self.unless:
            if not _names_any(extra, names):
                argv += arguments
        if model is not None and self.model and not _names_any(extra, self.model):
            argv += [self.model[0], model]
        if max_cost is not None and self.max_cost is not None and not _names_any(extra, (self.max_cost,)):
            # Not as 1e-05, which not every program reads.
            argv += [self.max_cost, f"{max_cost:.6f}".rstrip("0").rstrip(".")]
        if max_turns is not None and self.max_turns is not None and not _names_any(extra, (self.max_turns,)):
            argv += [self.max_turns, str(max_turns)]
        if prompt_file is not None and self.prompt_file is not None:
            argv += [self.prompt_file, prompt_file]
        return [*argv, *extra]


def _names_any(arguments: tuple[str, ...], options: tuple[str, ...]) -> bool:
    """Whether one of these options is among the arguments, alone or as `--option=value`."""
    return any(argument.partition("=")[0] in options for argument in arguments)
