"""Answers as rows of characters: pieces of text, each with the ink it is drawn in, broken where a row ends."""
