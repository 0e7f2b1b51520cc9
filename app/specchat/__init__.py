"""specchat: a terminal chat for local GGUF models that makes speculative decoding visible."""

__version__ = "0.1.0"
