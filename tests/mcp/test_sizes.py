"""What an agent reads before and between its work, in tokens.

No vocabulary is downloaded here. Tokens are bounded by characters, on the safe side of what was counted with the
vocabularies cl100k and o200k: prose has 3.8 characters a token, definitions 4.3, an answer full of ids 2.4.
"""

from __future__ import annotations

import math

import dibs
from dibs.mcp import answers
from dibs.priming import IN_A_SHELL, OVER_MCP, primer
from tests.mcp.agents import LEGACY, MODERN, in_loop, inside

PROSE, DEFINITIONS, ANSWERS = 3.5, 3.5, 2.0
"""Characters a token, at least."""


def _tokens(text: str, chars: float) -> int:
    return math.ceil(len(text) / chars)


def test_the_rules_have_fewer_than_400_tokens() -> None:
    count = _tokens(primer(OVER_MCP, IN_A_SHELL), PROSE)
    print(f"the rules: at most {count} tokens")
    assert count < 400


@in_loop
async def test_all_definitions_together_have_fewer_than_2500_tokens() -> None:
    async with dibs.connect("memory:") as queue:
        for mode in (MODERN, LEGACY):
            async with inside(queue, mode=mode) as agent:
                listed = (await agent.client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
                count = _tokens(listed, DEFINITIONS)
                print(f"the definitions of all tools: at most {count} tokens, with what is around them")
                assert count < 2_500


def test_where_every_request_stands_alone_definitions_have_fewer_than_2500_tokens() -> None:
    from dibs.mcp.definitions import TOOLS

    told = [
        {"name": tool.name, "description": tool.about, "inputSchema": tool.schema(stateless=True)} for tool in TOOLS
    ]
    count = _tokens(answers.text(told), DEFINITIONS)
    print(f"the definitions with sessions of our own: at most {count} tokens")
    assert count < 2_500


@in_loop
async def test_a_claim_adds_fewer_than_500_tokens_to_the_text_of_its_task() -> None:
    """The largest there is: one with inputs, a failed attempt, an answer, limits, a checkpoint and a contract."""
    goal, error, topic, output, tone = "A page about tea", "the linker is missing", "tea", "three facts", "calm"
    expects = {"validation": "json-schema", "schema": {"type": "string"}}
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        first = await queue.add("research", topic)
        await queue.add(
            "code",
            {"topic": topic},
            title="Build it",
            after=[first],
            retry="immediate",
            timeout="10m",
            max_cost=1.5,
            max_tokens=100_000,
            max_turns=30,
            deadline="2h",
            expects=expects,
            models=["opus"],
            context={"goal": goal},
        )
        await agent("claim")
        await agent("complete", output=output)
        await agent("claim")
        await agent("progress", checkpoint={"at": 3})
        await agent("fail", error=error)
        await agent("claim")
        asked = await agent("ask", question="Which tone?")
        await agent("answer", question=asked["question"], value=tone)
        told = await agent("claim")
        assert {"inputs", "answers", "previous_attempts", "limits", "checkpoint", "expects", "fence", "lease_s"} <= (
            told.keys()
        )
        own = [{"topic": topic}, "Build it", {"goal": goal}, expects, error, output, tone, "Which tone?"]
        said = sum(len(answers.text(each)) for each in own)
        around = answers.text(told)
        count = math.ceil((len(around) - said) / ANSWERS)
        print(f"a claim with everything: at most {count} tokens beyond the text of its task\n{around}")
        assert count < 500
