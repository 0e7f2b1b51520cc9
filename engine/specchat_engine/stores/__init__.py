"""Large texts that prompt lookup may draft from, indexed on disk."""

from specchat_engine.stores.suffixes import Places, Suffixes, write_suffixes

__all__ = ["Places", "Suffixes", "write_suffixes"]
