"""Graphs of tasks: added, looked at, waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server import given as givens
from dibs.server.handling import router_of
from dibs.server.once import dag_key
from dibs.server.sparing import spared
from dibs.server.waiting import wait

if TYPE_CHECKING:
    from dibs.model.dag import Dag
    from dibs.server.desk import Asking


async def add_dag(asking: Asking, tasks: Any, key: Any = None, **given: Any) -> Dag:
    once = asking.header(b"idempotency-key")
    if once is not None and key is None:
        key = dag_key(asking, once)
    return await asking.queue.add_dag(tasks=givens.tasks(tasks), key=key, **given)


async def get_dag(asking: Asking, dag_id: str) -> Dag:
    dag = await asking.queue.get_dag(dag_id)
    dag.tasks = spared(asking.caller, dag.tasks)
    return dag


router = router_of("dags", {"add_dag": add_dag, "get_dag": get_dag, "wait": wait})
