"""The errors of the application; the engine has its own tree. The exit codes of commands are here, too.

SpecchatError
├── ConfigError   an unusable value in a flag, a variable or the configuration file
├── TraceError    a file that is not a trace, or traces that cannot be compared
├── ExportError   a session that cannot be written to this file
├── UnreadableExport  a file of another chat that cannot be imported
├── StoreError    stored conversations cannot do what was asked
│   └── StoreUnavailable  their file cannot be opened, read or written now
├── HubError      the hub cannot be reached, rejects a request, or does not have the file
├── FetchError    a download that cannot be finished now; it can be resumed if possible
├── LibraryError  an unknown model name, or a model that cannot be removed or renamed
├── AttachmentError   a file that a message names and that cannot be attached
├── FileTooLarge  a file with more bytes than can be used
├── EditorError   an editor that is missing or fails, or text that it left unusable
├── RemoteError   a server that cannot be reached, refuses a request, or breaks off
├── ToolError     a tool, or a server of tools, that cannot be used
└── BundleError   a file that the doctor cannot write a bug report to

Every message is one line: what failed, the value, what to do.
"""

from __future__ import annotations

from pathlib import Path

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""The exit codes of commands that did not succeed."""


class SpecchatError(Exception):
    """The base of all errors that the application raises on purpose."""


class ConfigError(SpecchatError):
    """A setting with an unusable value, or a configuration file that cannot be read."""


class TraceError(SpecchatError):
    """A file that is not a trace, an unusable line in it, or two traces that cannot be compared."""


class ExportError(SpecchatError):
    """A session that cannot be exported: nothing to write, an unknown kind of file, or an existing file."""


class ExportExists(ExportError):
    """A file that an export would replace."""


class UnreadableExport(SpecchatError):
    """An export of another chat that is damaged, of an unknown kind, or too large in one place."""


class StoreError(SpecchatError):
    """Something that the store cannot do, such as adding a message to a session that was deleted for good."""


class StoreUnavailable(StoreError):
    """The file of the stored conversations cannot be opened, read or written now."""


class HubError(SpecchatError):
    """The hub cannot be reached, rejects the request, or does not have what was asked for."""


class FetchError(SpecchatError):
    """A download that cannot be finished now: no space, a broken file, a failing server."""


class LibraryError(SpecchatError):
    """An unknown model name, a name that cannot be given, or a model that cannot be removed."""


class AttachmentError(SpecchatError):
    """A file that a message names and that is missing, too large or not text."""


class FileTooLarge(SpecchatError):
    """A file with more bytes than can be used; `size` is how many it has."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(f"{path} has {size:,} bytes: use a smaller file")
        self.size = size


class EditorError(SpecchatError):
    """An editor that is not set, is missing or fails, or that leaves nothing usable."""


class RemoteError(SpecchatError):
    """A server that cannot be reached, that refuses a request, or whose answer breaks off."""


class ToolError(SpecchatError):
    """A tool that fails, or a server of tools that cannot be started, breaks off or takes too long."""


class BundleError(SpecchatError):
    """A file that the doctor cannot write a bug report to: it exists, or cannot be written."""
