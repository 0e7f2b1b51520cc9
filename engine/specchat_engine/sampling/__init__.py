"""From a row of logits to candidates, and from candidates to a token."""
