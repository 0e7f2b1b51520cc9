"""What goes to a terminal: the filter, palette, cells, wrapping."""
