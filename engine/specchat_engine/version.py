"""The version of specchat."""

__version__ = "0.1.0"
