"""Texts of the user's that may be drafted from: chosen files and folders, and past chats."""

from specchat.texts.chats import own_chats
from specchat.texts.collections import CHATS, Collection, Collections, vocabulary_key
from specchat.texts.refresh import Refreshing

__all__ = ["CHATS", "Collection", "Collections", "Refreshing", "own_chats", "vocabulary_key"]
