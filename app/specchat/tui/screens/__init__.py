"""The screens of the terminal app, each with its style sheet beside it."""
