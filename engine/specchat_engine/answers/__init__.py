"""What models write: reasoning, content and tool calls, told apart while it streams. It imports nothing heavy."""
