"""A2A: other people's agents hand tasks to this queue, over the Agent2Agent protocol.

The protocol's words are the SDK's (`a2a-sdk`), its tasks are ours: there is no store beside the store. A message
becomes a task, a question of its agent becomes `input-required`, the next message is the answer. Whatever a server
knows of a task it reads from the store, so any number of them serve the same tasks, and none of them is missed.

`offer` says what is offered, `content` turns messages into payloads and outputs into parts, `showing` tells where a
task is in the protocol's words, `following` what happens to it, `handling` answers requests, `pushing` calls back.
"""
