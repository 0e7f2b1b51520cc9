"""Answers on their way to clients: what is released, counted, and written in the shapes of the APIs."""
