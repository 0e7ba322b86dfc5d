"""What workers do on a store they do on a server: the tests of workers once more, with their store behind one."""

from __future__ import annotations

from tests.worker.test_asking import *  # noqa: F403
from tests.worker.test_budgets import *  # noqa: F403
from tests.worker.test_contracts import *  # noqa: F403
from tests.worker.test_handlers import *  # noqa: F403
from tests.worker.test_presence import *  # noqa: F403
from tests.worker.test_worker import *  # noqa: F403
