"""Conversations from the exports of other chats: ChatGPT, Open WebUI, LM Studio and oterm."""

from specchat.imports.export_files import SkippedChat, files_in, read_export
from specchat.imports.records import ImportedChat, ImportedMessage
from specchat.imports.storage import Imported, import_file

__all__ = [
    "Imported",
    "ImportedChat",
    "ImportedMessage",
    "SkippedChat",
    "files_in",
    "import_file",
    "read_export",
]
