"""A newsletter written by agents: articles side by side, an issue made of them, and nothing paid for twice.

    python newsletter.py coffee tea                  submits the graph and prints its id
    dibs worker newsletter:app --drain               does the work; start as many as you like, kill any of them

The model is a function that pretends; put your own calls in its place.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import dibs

app = dibs.App()


@app.handler("article", timeout="10m", retry="exponential:1s:1m")
async def article(ctx: dibs.Context, topic: str) -> dict[str, Any]:
    """One article. Each step is stored when it is done: an attempt that follows a crash goes on after it."""
    facts = await ctx.step("facts", ask_model, f"three facts about {topic}")
    await ctx.progress(0.5, "writing")
    text = await ctx.step("text", ask_model, f"an article from {facts}")
    ctx.spend(usd=0.002, tokens_in=200, tokens_out=80, model="pretend-1")
    # Waiting for a child holds no worker: this run ends here, and the handler runs again when the picture is there.
    picture = await ctx.spawn("picture", {"of": topic}, title=f"A picture of {topic}")
    return {"text": text, "picture": picture.output}


@app.handler("picture")
def picture(of: str) -> str:
    """A plain function runs in a thread; it may block."""
    return f"{of}.png"


@app.handler("issue")
async def issue(ctx: dibs.Context) -> dict[str, Any]:
    """The issue, once all its articles are there: `ctx.inputs` holds their outputs by ref."""
    headline = await ctx.step("headline", ask_model, f"a headline over {', '.join(ctx.inputs)}")
    ctx.log(f"an issue of {len(ctx.inputs)} articles")
    return {"headline": headline, "articles": ctx.inputs}


async def ask_model(prompt: str) -> str:
    """Where a real app would call a model."""
    return f"<{prompt}>"


async def submit(topics: list[str]) -> str:
    """One commit: all articles and the issue that waits for them, or nothing."""
    async with dibs.connect() as queue:
        async with queue.dag(f"Newsletter about {', '.join(topics)}") as dag:
            articles = [dag.add("article", {"topic": topic}, ref=topic, title=f"About {topic}") for topic in topics]
            dag.add("issue", after=articles, title="The issue")
        return dag.id


if __name__ == "__main__":
    print(asyncio.run(submit(sys.argv[1:] or ["coffee", "tea"])))
