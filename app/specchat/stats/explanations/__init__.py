"""Longer explanations than `stats.explain` gives, of a figure or of a token, with the answer's own numbers."""
