"""`python -m specchat` is `specchat`."""

import sys

from specchat.cli import main

if __name__ == "__main__":
    sys.exit(main())
