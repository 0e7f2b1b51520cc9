"""Answers that follow a grammar or a JSON schema."""
