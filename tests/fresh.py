"""Runs Python scripts in separate processes that need not import torch again.

The import of torch and the first export take four seconds of processor time. A server does both once for each
session of pytest, and forks a process for each script. The server never imports Rushlight, so that a script
imports Rushlight as in a fresh process.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def _server() -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.Popen(
        [sys.executable, __file__],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def run_python(
    script: str | Path, *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate process, similar to `subprocess.run`.

    Args:
        script: The code, or the path of a file.
        arguments: The rest of `sys.argv`.
        cwd: The folder in which the script runs.
        environment: The environment variables; by default those of this process. PYTHONPATH begins the
            path of modules.

    Returns:
        The exit code, or minus the number of the signal that ended the process, and what the script printed.

    Raises:
        RuntimeError: The server has ended.
    """
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    is_file = isinstance(script, Path)
    name = str(script) if is_file else "-c"
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        request = {
            "code": script.read_text() if isinstance(script, Path) else script,
            "name": name,
            "is_file": is_file,
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": dict(os.environ if environment is None else environment),
            "out": str(out),
            "err": str(err),
        }
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        if not answer:
            raise RuntimeError("the server of tests/fresh.py has ended; the reason is in its standard error")
        return subprocess.CompletedProcess(
            [sys.executable, name, *arguments], int(answer), out.read_text(), err.read_text()
        )


def _load_torch() -> None:
    """Imports everything that exports need.

    A single tensor starts no threads, which a fork would not copy.
    """
    import torch

    class Product(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + 1) @ x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(Product(), (torch.ones(2, 2),))
        program.run_decompositions({})
        program.run_decompositions()


def _serve() -> dict[str, Any]:
    """Answers requests. It returns only in forked processes, with the request to run."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def _become(request: dict[str, Any], paths: list[str]) -> types.ModuleType:
    """Sets files, folder, environment and arguments of this process, and returns its module __main__."""
    modes = os.O_WRONLY | os.O_CREAT
    for target, path, mode in (
        (0, os.devnull, os.O_RDONLY),
        (1, request["out"], modes),
        (2, request["err"], modes),
    ):
        source = os.open(path, mode, 0o600)
        os.dup2(source, target)
        os.close(source)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    first = str(Path(request["name"]).resolve().parent) if request["is_file"] else ""
    own = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [first, *own, *(path for path in paths if path not in own)]
    sys.argv[:] = [request["name"], *request["arguments"]]
    main = types.ModuleType("__main__")
    if request["is_file"]:
        main.__file__ = request["name"]
    sys.modules["__main__"] = main
    return main


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    _load_torch()
    gc.freeze()
    _request = _serve()
    _main = _become(_request, list(sys.path))
    _name = _request["name"] if _request["is_file"] else "<string>"
    exec(compile(_request["code"], _name, "exec", dont_inherit=True), _main.__dict__)
