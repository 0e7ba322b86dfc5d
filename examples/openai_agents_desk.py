"""A help desk written with the OpenAI Agents SDK: one agent hands over to another, and no call is paid for twice.

    dibs add help --payload '{"prompt": "My invoice 17 is wrong."}'
    dibs worker openai_agents_desk:app --drain

Needs `pip install openai-agents`. The model is a class that pretends: leave `model=` away, and it is OpenAI's.
"""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import dibs
from dibs.adapters.openai_agents import handler_of


class Pretend(Model):
    """Stands for a model: hands over to whoever knows bills, looks the bill up, then answers."""

    async def get_response(
        self, system_instructions: str | None, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        told = [
            item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        if "triage" in (system_instructions or ""):
            said: Any = _call("transfer_to_billing", {}, "call_1")
        elif not any("euros" in str(output) for output in told):
            said = _call("look_up_invoice", {"number": 17}, "call_2")
        else:
            text = ResponseOutputText(text=f"It is {told[-1]}, as agreed.", type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="msg_1", content=[text], role="assistant", status="completed", type="message"
            )
        usage = Usage(requests=1, input_tokens=50, output_tokens=10, total_tokens=60)
        return ModelResponse(output=[said], usage=usage, response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def _call(name: str, arguments: dict[str, Any], id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=name, arguments=json.dumps(arguments), call_id=id, type="function_call")


@function_tool
def look_up_invoice(number: int) -> str:
    """What an invoice says."""
    return f"{number * 10} euros"


billing = Agent(name="billing", instructions="You know about bills.", model=Pretend(), tools=[look_up_invoice])
triage = Agent(name="triage", instructions="triage: hand over to whoever knows.", model=Pretend(), handoffs=[billing])

app = dibs.App()
app.handler("help", timeout="10m")(handler_of(triage, run_config=RunConfig(tracing_disabled=True)))
