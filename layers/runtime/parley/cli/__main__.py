"""The command `parley`, and `python -m parley.cli` where nothing put it on the PATH.

Everything else is loaded in here, so that a Ctrl-C while that happens is one like any other.
"""

import sys

INTERRUPTED = 130


def run() -> int:
    """One command; its exit status."""
    try:
        from parley.cli.main import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
