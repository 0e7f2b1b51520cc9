"""The command line. Importing it loads neither the terminal UI nor the engine, so that `--help` answers at once."""

from specchat.cli.start import main

__all__ = ["main"]
