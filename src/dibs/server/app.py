"""The server as an ASGI application: `create_app(queue, authority=…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import NotFoundException

from dibs.server import refusing
from dibs.server.admitting import Admission, refuse_unguarded
from dibs.server.desk import Desk
from dibs.server.entrance import Entrance
from dibs.server.marking import Marked
from dibs.server.pacing import Pace
from dibs.server.routes import (
    about,
    agents,
    artifacts,
    audit,
    budgets,
    claims,
    dags,
    deadletters,
    events,
    found,
    gates,
    hooks,
    journal,
    questions,
    reports,
    schedules,
    tasks,
    tokens,
    triggers,
    upkeep,
    watching,
)
from dibs.server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queue import Queue
    from dibs.server.callers import Authority

ROUTERS = (
    about.router,
    agents.router,
    artifacts.router,
    audit.router,
    budgets.router,
    claims.router,
    dags.router,
    deadletters.router,
    events.router,
    found.router,
    gates.router,
    hooks.router,
    journal.router,
    questions.router,
    reports.router,
    schedules.router,
    tasks.router,
    tokens.router,
    triggers.router,
    upkeep.router,
    watching.router,
)


def create_app(
    queue: Queue,
    *,
    authority: Authority,
    settings: Settings | None = None,
    routers: Any = (),
    astray: Callable[..., Any] = refusing.answer,
) -> Litestar:
    """The API on this queue's store, for the callers that `authority` knows. `routers`: more of them; `astray` answers
    whoever asks for a path that none of them has.

    `app.state.desk.let_go()` answers all long polls, before the server leaves.
    """
    limits = settings or Settings()
    desk = Desk(queue, authority, limits)
    admission = Admission(authority, Pace(limits.requests_per_s, limits.burst))
    app = Litestar(
        [*ROUTERS, *routers],
        exception_handlers={Exception: refusing.answer, NotFoundException: astray},
        guards=[admission],
        logging_config=None,
        openapi_config=None,
        request_max_body_size=limits.max_body_bytes,
        state=State({"desk": desk}),
    )
    refuse_unguarded(app)
    app.asgi_handler = Marked(Entrance(app.asgi_handler, app, desk, admission, limits.max_at_once))
    return app
