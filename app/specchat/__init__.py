"""specchat: a terminal chat for local GGUF models that makes speculative decoding visible."""

from specchat_engine import __version__

__all__ = ["__version__"]
