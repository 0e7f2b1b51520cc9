"""The conversation on the screen: entries, their rows, and the widget that shows them."""
