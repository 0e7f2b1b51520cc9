"""Plain decoding against every drafter and k, on one pair of models: what is measured, compared and drawn."""
