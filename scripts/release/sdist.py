"""Writes the source distribution into `dist`, with the same bytes for the same commit."""

from __future__ import annotations

import os
import sys

from common import DIST, ROOT, epoch, run


def main() -> None:
    """Writes it by the build backend."""
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    run(
        *(sys.executable, "-c", code, DIST),
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
    )


if __name__ == "__main__":
    main()
