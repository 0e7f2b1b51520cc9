"""Tools that a model may call in the chat: the built-in ones, and those of MCP servers. Nothing here imports `mcp`
except the process that talks to a server."""
