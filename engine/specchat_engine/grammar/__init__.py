"""What limits the shape of an answer: JSON schemas, GBNF, regular expressions and Lark, followed by llguidance."""
