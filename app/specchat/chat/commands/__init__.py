"""What is written behind a slash: the commands, how they are read, and what completes them. Pure, without a widget."""
