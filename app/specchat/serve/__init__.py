"""The HTTP server: other programs use the engine, several at a time."""
