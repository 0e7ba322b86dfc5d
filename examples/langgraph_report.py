"""A report written with LangGraph: its checkpoints are the task's, and what it interrupts for a person answers.

    dibs add report --payload '{"topic": "tea"}'
    dibs worker langgraph_report:app --drain         drafts, then asks whether it is good, and holds nothing meanwhile
    dibs inbox; dibs answer QUESTION yes
    dibs worker langgraph_report:app --drain         goes on where it stopped: the draft is not paid for again

Needs `pip install langgraph`. The model pretends: put your own in its place.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import dibs
from dibs.adapters.langgraph import handler_of


class State(TypedDict, total=False):
    topic: str
    draft: str
    good: bool
    report: str


def model(text: str) -> GenericFakeChatModel:
    """Stands for a model that answers this, and says what it used."""
    usage: Any = {"input_tokens": 30, "output_tokens": 12, "total_tokens": 42}
    return GenericFakeChatModel(messages=iter([AIMessage(text, usage_metadata=usage)]))


async def write(state: State) -> State:
    said = await model(f"All about {state['topic']}.").ainvoke(f"Write about {state['topic']}.")
    return {"draft": str(said.content)}


async def review(state: State) -> State:
    """Waits for a person, for as long as it takes."""
    return {"good": interrupt({"question": f"Is this good? {state['draft']}", "schema": {"type": "boolean"}})}


async def publish(state: State) -> State:
    return {"report": state["draft"] if state["good"] else "nothing"}


graph = StateGraph(State)
for name, node in (("write", write), ("review", review), ("publish", publish)):
    graph.add_node(name, node)
for one, next in ((START, "write"), ("write", "review"), ("review", "publish"), ("publish", END)):
    graph.add_edge(one, next)

app = dibs.App()
app.handler("report", timeout="10m")(handler_of(graph))
