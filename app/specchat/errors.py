"""What can go wrong in the application itself; the engine has its own tree.

SpecchatError
├── ConfigError   a value in a flag, a variable or the configuration file that cannot be used
├── TraceError    a file that is no trace, or traces that cannot be compared
└── ExportError   a session that cannot be written to this file

Every message is one line: what failed, the value, what to do.
"""


class SpecchatError(Exception):
    """The base of everything that the application raises on purpose."""


class ConfigError(SpecchatError):
    """A setting with a value that it cannot have, or a configuration file that cannot be read."""


class TraceError(SpecchatError):
    """A file that is no trace, a line in it that cannot be used, or two traces that do not belong together."""


class ExportError(SpecchatError):
    """A session that cannot be exported: nothing to write, an unknown kind of file, or a file that exists."""
