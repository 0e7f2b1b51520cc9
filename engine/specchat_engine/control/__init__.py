"""Which drafter and which k the next round takes: what passes cost here, what is accepted here, and the choice."""
