"""Models and a tokenizer without weights, to test drafters, verifiers and whole sessions without llama.cpp."""

from specchat_engine.testing.byte_tokenizer import ByteTokenizer
from specchat_engine.testing.scripted import ScriptedModel, peaked, random_law

__all__ = ["ByteTokenizer", "ScriptedModel", "peaked", "random_law"]
