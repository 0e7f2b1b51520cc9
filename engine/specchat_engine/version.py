"""The version of the distribution: the build reads it here, and so can every room of the engine."""

__version__ = "0.1.0"
