"""The chat without a screen: line by line, for screen readers, for pipes, for terminals that cannot draw."""
