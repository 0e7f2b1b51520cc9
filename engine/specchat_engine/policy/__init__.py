"""Who drafts the next round, how many tokens, and why."""
