"""Who drafts the next round, how many tokens, and why. docs/adaptive.md explains it and what each constant is worth."""
