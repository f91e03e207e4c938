"""``python -m ckptplan`` and the ``ckptplan`` script: the one error handler and the one table of exit codes."""

from __future__ import annotations

import sys

from ckptplan.cli.edge import run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
