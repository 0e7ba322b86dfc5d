"""A buyer written with Pydantic AI: every call of its model and its tools is made once, whatever crashes in between.

    dibs add buy --payload '{"prompt": "a chair and a table"}'
    dibs worker pydantic_ai_buyer:app --drain        looks up prices, then asks a person, and holds nothing meanwhile
    dibs inbox; dibs answer QUESTION yes
    dibs worker pydantic_ai_buyer:app --drain        goes on after the answer

Needs `pip install pydantic-ai-slim`. The model is a function that pretends: put the name of yours in its place.
"""

from __future__ import annotations

from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

import dibs
from dibs.adapters.pydantic_ai import handler_of

PRICES = {"chair": 80, "table": 240}


def pretend(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands for a model: first wants prices, side by side, then a person's word, then is done."""
    told = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    usage = RequestUsage(input_tokens=100, output_tokens=20)
    if not told:
        calls = [ToolCallPart("price", {"item": item}) for item in PRICES]
        return ModelResponse(parts=calls, usage=usage, model_name="pretend-1")
    if len(told) == len(PRICES):
        total = sum(part.content for part in told)
        return ModelResponse(parts=[ToolCallPart("confirm", {"total": total})], usage=usage, model_name="pretend-1")
    verdict = "bought" if told[-1].content else "left in the shop"
    return ModelResponse(parts=[TextPart(f"A chair and a table were {verdict}.")], usage=usage, model_name="pretend-1")


buyer = Agent(FunctionModel(pretend), deps_type=dibs.Context, instructions="You buy what you are asked for.")


@buyer.tool_plain
def price(item: str) -> int:
    """What an item costs, in euros."""
    return PRICES[item]


@buyer.tool
async def confirm(run: RunContext[dibs.Context], total: int) -> bool:
    """Whether so much may be spent: a person says. Until then the task waits, and no worker is held."""
    answer = await run.deps.ask(f"May I spend {total} euros?", {"type": "boolean"})
    return bool(answer)


app = dibs.App()
# The tools' dependencies are the task itself: so they can ask, spawn and log.
app.handler("buy", timeout="10m")(handler_of(buyer, deps=lambda ctx: ctx))
