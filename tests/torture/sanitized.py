"""`python -m tests.torture.sanitized FILE` executes programs with the extension module FILE."""

from __future__ import annotations

import sys

from tests import native


def main() -> None:
    native.use(sys.argv[1])
    from tests.torture.execute import serve

    serve()


if __name__ == "__main__":
    main()
