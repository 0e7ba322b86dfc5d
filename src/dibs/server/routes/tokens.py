"""Tokens: made, looked at and ended by admins. What was done the verbs write into the audit; here is said by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.server.handling import router_of

if TYPE_CHECKING:
    from dibs.server.desk import Asking


async def done_by_the_caller(asking: Asking, **given: Any) -> Any:
    try:
        return await getattr(asking.queue, asking.verb.name)(**given, by=asking.caller.name)
    except DibsError as error:
        await asking.desk.authority.record(asking.caller, asking.verb.name, asking.path, error.code)
        raise


router = router_of(
    "tokens",
    {
        "create_login": done_by_the_caller,
        "create_token": done_by_the_caller,
        "revoke_token": done_by_the_caller,
        "rotate_token": done_by_the_caller,
    },
)
