"""What can go wrong in the application itself; the engine has its own tree.

SpecchatError
├── ConfigError   a value in a flag, a variable or the configuration file that cannot be used
├── TraceError    a file that is no trace, or traces that cannot be compared
├── ExportError   a session that cannot be written to this file
├── HubError      the hub cannot be reached, refuses, or does not have what was asked for
├── FetchError    a download that cannot be finished now; what has arrived is kept where it can be used
├── LibraryError  a name that no model on this machine has, or a model that cannot be removed or renamed
├── AttachmentError   a file that a message names and that cannot go with it
└── BundleError   a file that the doctor cannot pack a bug report into

Every message is one line: what failed, the value, what to do.
"""

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""The exit codes of commands that did not succeed."""


class SpecchatError(Exception):
    """The base of everything that the application raises on purpose."""


class ConfigError(SpecchatError):
    """A setting with a value that it cannot have, or a configuration file that cannot be read."""


class TraceError(SpecchatError):
    """A file that is no trace, a line in it that cannot be used, or two traces that do not belong together."""


class ExportError(SpecchatError):
    """A session that cannot be exported: nothing to write, an unknown kind of file, or a file that exists."""


class StoreError(SpecchatError):
    """Something that the stored conversations cannot do, such as a message in a session that was deleted for good."""


class StoreUnavailable(StoreError):
    """The file of the stored conversations cannot be opened, read or written at present."""


class HubError(SpecchatError):
    """The hub cannot be reached, refuses, or does not have what was asked for."""


class FetchError(SpecchatError):
    """A download that cannot be finished now: no space, a broken file, a server that gives up."""


class LibraryError(SpecchatError):
    """A model's name that nothing on this machine has, or that cannot be given away; a model that cannot be removed."""


class AttachmentError(SpecchatError):
    """A file that a message names and that is missing, too large or no text."""


class BundleError(SpecchatError):
    """A file that the doctor cannot pack a bug report into: it exists, or cannot be written."""
