"""Runs programs in this process, or in a process with sanitizers."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

import rushlight

SANITIZERS = f"libclang_rt.asan-{platform.machine()}.so"


@dataclass
class Calls:
    """The results of the calls of a newly loaded program, up to the first failing call.

    Attributes:
        outputs: the leaves of the outputs of each call.
        arguments: the leaves of the arguments of each call, after the call.
        error: the error of the next call, or an empty text.
    """

    outputs: list[list[Any]] = field(default_factory=list)
    arguments: list[list[Any]] = field(default_factory=list)
    error: str = ""


def execute(blob: bytes, threads: int, calls: Sequence[tuple[Any, ...]]) -> Calls:
    """Loads a program and calls it with each tuple of arguments."""
    made = Calls()
    try:
        module = rushlight.load(blob, threads=threads)
        for arguments in calls:
            made.outputs.append(pytree.tree_leaves(module(*arguments)))
            made.arguments.append(pytree.tree_leaves(arguments))
    except Exception as error:
        made.error = brief(error)
    return made


def brief(error: BaseException) -> str:
    """Returns the class and the message of an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:1500]


class Sanitized:
    """A process with an extension module that was built with sanitizers.

    The sanitizers write their reports to the standard error of this process.
    """

    def __init__(self, native: str) -> None:
        command = ["clang++", f"-print-file-name={SANITIZERS}"]
        library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        environment = {
            **os.environ,
            "LD_PRELOAD": library,
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.sanitized", native],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def execute(self, blob: bytes, threads: int, calls: Sequence[tuple[Any, ...]]) -> Calls:
        """Does what `execute` does, in that process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump((blob, threads, list(calls)), self._process.stdin)
            self._process.stdin.flush()
            made: Calls = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise RuntimeError(
                f"the process that ran the program ended with {self._process.wait()}"
            ) from None
        return made

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """Executes the requests of standard input, and writes the results to standard output."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(execute(*request), results)
        results.flush()
