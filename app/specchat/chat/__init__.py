"""A chat without a screen: its state, its commands and what is kept of it, for the terminal app and the plain one."""
