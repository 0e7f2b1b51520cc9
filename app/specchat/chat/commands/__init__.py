"""Slash commands: what they ask for, how they are read, and what completes them. Pure, without a widget."""
