"""Trains small llama-architecture models. The built-in pair is made with it, and other draft models can be.

This is the only part of the engine that needs torch (the extra `specchat[train]`).
"""
