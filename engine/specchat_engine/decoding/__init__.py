"""The decoding loop: rounds, drafts, the recorder that turns steps into rounds, statistics."""
