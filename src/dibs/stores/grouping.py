"""Claims that were taken in groups, as they are handed over: each first one, with the others in its `group`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.claim import Claim


def in_groups(claims: Sequence[Claim], groups: Sequence[int]) -> list[Claim]:
    """`groups` tells of each claim to which it belongs; those of one group follow each other."""
    first: list[Claim] = []
    last = None
    for claim, group in zip(claims, groups, strict=True):
        if group == last:
            first[-1].group.append(claim)
        else:
            first.append(claim)
        last = group
    return first
