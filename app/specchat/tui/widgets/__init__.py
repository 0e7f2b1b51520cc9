"""The widgets of the terminal app, one a file; they are given frozen snapshots and never know the engine."""
