"""What the attributes of spans are called: the one place to change when the conventions do.

OpenTelemetry's names for generative AI and for messaging are still in development; ours begin with `dibs.`.
"""

from __future__ import annotations

# Generative AI: https://opentelemetry.io/docs/specs/semconv/gen-ai/
GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_AGENT_ID = "gen_ai.agent.id"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_PROVIDER = "gen_ai.provider.name"
GEN_AI_CONVERSATION = "gen_ai.conversation.id"
GEN_AI_REQUEST_MODEL = "gen_ai.request.model"
GEN_AI_RESPONSE_MODEL = "gen_ai.response.model"
GEN_AI_INPUT_TOKENS = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
INVOKE_AGENT = "invoke_agent"

# Messaging: https://opentelemetry.io/docs/specs/semconv/messaging/
MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.type"
MESSAGING_DESTINATION = "messaging.destination.name"
MESSAGING_MESSAGE = "messaging.message.id"
SYSTEM = "dibs"
PROCESS = "process"

ERROR_TYPE = "error.type"

TASK_DAG = "dibs.dag.id"
TASK_PROJECT = "dibs.project"
TASK_FENCE = "dibs.fence"
TASK_ATTEMPT = "dibs.attempt"
TASK_OUTCOME = "dibs.outcome"
TASK_COST = "dibs.cost_usd"
TASK_TURNS = "dibs.turns"
