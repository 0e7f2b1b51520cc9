"""What models write: reasoning, content and tool calls, separated while it streams. It imports nothing heavy."""
