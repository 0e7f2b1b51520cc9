"""Training of small llama-architecture models: what the built-in pair is made with, and reusable for other drafts.

The only part of the engine that needs torch (the extra `specchat[train]`).
"""
