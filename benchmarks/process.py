"""Worker processes that answer requests in lines of JSON, so that systems can run in turn."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MAIN = ROOT / ".venv" / "bin" / "python"
INTEROP = ROOT / ".venv-interop" / "bin" / "python"
PEERS = ROOT / ".venv-peers" / "bin" / "python"


class Process:
    """A process `python -m module arguments` in the folder `root`. Its standard error is written to `log`."""

    def __init__(
        self,
        python: Path,
        module: str,
        *arguments: str,
        log: Path | None = None,
        threads: int = 1,
        root: Path = ROOT,
    ) -> None:
        self.was_late = False
        # Installed sources have bytecode files. The first process writes those of a working tree.
        environment = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        } | {
            "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "bytecode"),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH")))),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": str(threads),
        }
        self._process = subprocess.Popen(
            [str(python), "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w") if log else subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=root,
        )

    def ask(self, request: Any) -> Any:
        """Sends a request and returns the answer, or None if the process has ended."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        except BrokenPipeError:
            return None
        return self.answer()

    def answer(self, patience: float | None = None) -> Any:
        """Returns the next answer, or None if the process has ended.

        It is stopped after `patience` seconds.
        """
        stdout = self._process.stdout
        assert stdout is not None
        if patience is not None and not select.select([stdout], [], [], patience)[0]:
            self.was_late = True
            self._process.kill()
        line = stdout.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._process.communicate()


def serve(handle: Callable[[Any], Any], *, hello: Callable[[], Any] | None = None) -> None:
    """Answers every request on standard input. Texts that libraries print are sent to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(value: Any) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    if hello is not None:
        say(hello())
    for line in sys.stdin:
        say(handle(json.loads(line)))
