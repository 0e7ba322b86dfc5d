"""An orchestrator: a model takes a goal apart into a graph of tasks, which is submitted whole, and grows while it runs.

    python orchestrator.py "a landing page for Acme"     asks the model for a plan, submits it, prints the dag's id
    dibs worker orchestrator:app --drain                 does the work; start as many as you like, kill any of them
    python orchestrator.py --more DAG "also in German"   adds to the dag while it runs; what comes last waits for it
    dibs tree DAG

It grows in two ways: whoever does a task may spawn more below it (`requirements` does), and whoever watches may add to
the dag and tie what is there to it (`more` does). The model is a function that pretends; what it says is data, and is
looked at before anything is made of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import dibs

KINDS = ("research", "design", "implement", "requirements", "deploy")
"""The types of tasks that a plan may have: there are handlers for these."""

app = dibs.App()


async def plan_of(goal: str) -> list[dibs.NewTask]:
    """The tasks that the model thinks a goal takes."""
    return tasks_of(await ask_model(f"plan: {goal}"))


def tasks_of(said: str) -> list[dibs.NewTask]:
    """What a model said, as tasks. Refs that lead nowhere, and circles, are refused when they are submitted."""
    tasks = []
    for item in json.loads(said):
        if item["type"] not in KINDS:
            raise ValueError(f"the model wants a task of type {item['type']!r}, and nobody does those")
        tasks.append(
            dibs.NewTask(
                item["type"],
                {"what": str(item["what"])},
                ref=item["ref"],
                title=item["what"],
                after=item.get("after", ()),
            )
        )
    return tasks


async def submit(goal: str) -> str:
    """One commit: the whole plan, or nothing. The same goal again is the same dag."""
    async with dibs.connect() as queue:
        dag = await queue.add_dag(goal, await plan_of(goal), key=f"goal:{goal}", created_by="orchestrator")
        return dag.id


async def more(dag_id: str, wish: str) -> list[str]:
    """Add to a dag that runs, in one commit, and let what comes last wait for it."""
    async with dibs.connect() as queue:
        dag = await queue.get_dag(dag_id)
        [last] = [task for task in dag.tasks if task.type == "deploy"]
        new = tasks_of(await ask_model(f"more: {wish}"))
        for task in new:
            task.dag = dag.id
        added = await queue.add_many(new)
        await queue.link(last.id, after=added)
        return [task.id for task in added]


@app.handler("research")
@app.handler("design")
@app.handler("implement")
async def work(ctx: dibs.Context, what: str) -> str:
    """What an agent does. The call is a step: it is paid for once, whatever crashes."""
    made: str = await ctx.step("work", ask_model, f"{ctx.task.type}: {what}")
    ctx.spend(usd=0.01, tokens_in=400, tokens_out=200, model="pretend-1")
    return made


@app.handler("requirements")
async def requirements(ctx: dibs.Context, what: str) -> dict[str, Any]:
    """Sums up what was found, and sees what nobody had thought of: that is spawned below this task and waited for."""
    missing: str = await ctx.step("missing", ask_model, f"missing: {what}")
    extra = await ctx.spawn("implement", {"what": missing}, title=missing, name="missing")
    return {"from": sorted(ctx.inputs), "and": extra.output}


@app.handler("deploy")
async def deploy(ctx: dibs.Context, what: str) -> dict[str, Any]:
    """Comes last. Everything that it waited for is in its inputs, also what was added later."""
    ctx.decide({"chose": "ship it", "because": f"{len(ctx.inputs)} parts are done"})
    return {"shipped": what, "parts": len(ctx.inputs)}


async def ask_model(prompt: str) -> str:
    """Where a real orchestrator would call a model."""
    kind, _, what = prompt.partition(": ")
    if kind == "plan":
        return json.dumps(
            [
                {"ref": "research", "type": "research", "what": f"competitors of {what}"},
                {"ref": "design", "type": "design", "what": f"wireframe for {what}"},
                {"ref": "code", "type": "implement", "what": f"code of {what}"},
                {"ref": "needs", "type": "requirements", "what": what, "after": ["research", "design"]},
                {"ref": "ship", "type": "deploy", "what": what, "after": ["code", "needs"]},
            ]
        )
    if kind == "more":
        return json.dumps(
            [
                {"ref": "extra", "type": "implement", "what": what},
                {"ref": "look", "type": "research", "what": f"how others did {what}"},
            ]
        )
    if kind == "missing":
        return f"imprint of {what}"
    return f"<{kind} of {what}>"


if __name__ == "__main__":
    if sys.argv[1] == "--more":
        print(*asyncio.run(more(sys.argv[2], " ".join(sys.argv[3:]))), sep="\n")
    else:
        print(asyncio.run(submit(" ".join(sys.argv[1:]))))
