"""How much memory a model takes and where it would go; what the models have read, saved."""
