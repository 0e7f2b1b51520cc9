"""The chat: a screen, and one object for each thing that can be done in it."""
