"""Recorded turns: reading and writing them, playing them back, racing two, and exporting a session."""
