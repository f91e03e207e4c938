"""``python -m ckptplan`` and the ``ckptplan`` script: the one error handler and the one table of exit codes."""

from __future__ import annotations

import gc
import sys

# A run lives for a fifth of a second, a tenth of it spent on looking for cycles among objects that all stay alive.
gc.set_threshold(200_000, 50, 100)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from ckptplan.cli.edge import run
    except KeyboardInterrupt:  # as early as this, there is nobody yet to say so
        sys.exit(130)
    code = run(sys.argv[1:])
    gc.freeze()  # the interpreter searches for cycles once more as it ends, and all of this memory is given back anyway
    sys.exit(code)


if __name__ == "__main__":
    main()
