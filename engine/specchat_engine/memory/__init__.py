"""How much memory a model needs, where it would be placed, and how its prompt cache is saved."""
