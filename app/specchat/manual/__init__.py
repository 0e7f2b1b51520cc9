"""The help and the documentation as sections, and a search over them."""
