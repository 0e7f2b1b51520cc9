"""Tools that a model may call in the chat: some of its own, and those of MCP servers. Nothing here imports `mcp` except
the process that talks to a server."""
