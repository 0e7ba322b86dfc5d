"""The queue for agents that speak MCP: a few tools with short answers, on stdio (`dibs mcp`) and at `/mcp` of a server.

What an agent can do here are verbs of `Queue`, and it may be one on a store or on a server (`dibs.remote`). Only
`serving`, `extension` and `stdio` need the package `mcp`; the others say what the tools do.
"""
