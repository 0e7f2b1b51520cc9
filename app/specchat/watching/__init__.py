"""Watching a `specchat serve`: the answers that it gives to its clients, as they are given."""
