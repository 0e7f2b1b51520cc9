"""What can go wrong in the application itself; the engine has its own tree.

SpecchatError
└── ConfigError   a value in a flag, a variable or the configuration file that cannot be used

Every message is one line: what failed, the value, what to do.
"""


class SpecchatError(Exception):
    """The base of everything that the application raises on purpose."""


class ConfigError(SpecchatError):
    """A setting with a value that it cannot have, or a configuration file that cannot be read."""
