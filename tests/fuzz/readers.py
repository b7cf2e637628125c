"""Runs the readers in Python on changed files.

Each must return a result or raise one of its declared errors.
"""

from __future__ import annotations

import contextlib
import io
import random
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz import mutators, tools
from tests.llm.tokenizer_files import hugging_face_model

from rushlight.aot_c.errors import AotCError
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.cli.factory import load_model
from rushlight.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etdump import deserialize_from_etdump_flatcc
from rushlight.devtools.etrecord import parse_etrecord
from rushlight.format.errors import FormatError
from rushlight.format.ptd import read_ptd, write_ptd
from rushlight.format.pte import read_pte, write_pte
from rushlight.format.text import format_pte
from rushlight.llm import load_tokenizer
from rushlight.memory.__main__ import read_instance
from rushlight.runtime.errors import RushlightError
from rushlight.select.kernel_index import read_kernels
from rushlight.select.usage import read_usage

MAX_SECONDS = 1.0  # processor time for one file, in `make fuzz-python`
HANG_SECONDS = 10.0  # processor time after which a reader is stopped
WARM_UP = 20  # the number of seeds that a reader reads before the limits apply
MAX_BYTES = 1 << 29  # memory that the readers of one format may add to the process
TOOL_ERRORS = (RushlightError, FormatError, DevtoolsError, AotCError)


class HangError(BaseException):
    """A reader did not end."""


@dataclass(frozen=True)
class Reader:
    """A reader: the folder of its seeds, the function that reads a file, and the errors that it may raise."""

    seeds: str
    read: Callable[[bytes, Path], object]
    errors: tuple[type[Exception], ...]
    mutator: str  # a format of the mutator of tables, or "archive", "bytes", "json" or "text"


def _pte(data: bytes, scratch: Path) -> None:
    file = read_pte(data)
    format_pte(file)
    write_pte(file)


def _in_file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def run(data: bytes, scratch: Path) -> object:
        path = scratch / f"changed{suffix}"
        path.write_bytes(data)
        return read(path)

    return run


def _tokenizer(path: Path) -> None:
    """Loads a tokenizer, and encodes and decodes a text."""
    tokenizer = load_tokenizer(path)
    tokenizer.decode(tokenizer.encode("once upon a time\n"))


def _tokenizer_config(data: bytes, scratch: Path) -> None:
    """Loads a tokenizer with a file that lists its special tokens."""
    folder = scratch / "tokenizer"
    if not folder.exists():
        folder.mkdir()
        hugging_face_model().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_bytes(data)
    load_tokenizer(folder)


READERS = {
    "pte": Reader("program", _pte, (FormatError,), "program"),
    "ptd": Reader("data_file", lambda data, _: write_ptd(read_ptd(data)), (FormatError,), "data_file"),
    "bpte": Reader(
        "bundled_program",
        lambda data, _: deserialize_from_flatbuffer_to_bundled_program(data),
        (FormatError,),
        "bundled_program",
    ),
    "etdump": Reader(
        "etdump", lambda data, _: deserialize_from_etdump_flatcc(data, False), (FormatError,), "etdump"
    ),
    "plan": Reader("cpu_plan", lambda data, _: read_plan(data), (FormatError,), "cpu_plan"),
    "xnnpack": Reader(
        "xnnpack_payload", lambda data, _: read_payload(data), (FormatError,), "xnnpack_payload"
    ),
    "etrecord": Reader(
        "etrecord", lambda data, _: parse_etrecord(io.BytesIO(data)), (DevtoolsError,), "archive"
    ),
    "pt2": Reader("pt2", _in_file(".pt2", lambda path: load_model(str(path))), (RushlightError,), "archive"),
    "tokenizer_json": Reader("tokenizer_json", _in_file(".json", _tokenizer), (RushlightError,), "text"),
    "tokenizer_config": Reader("tokenizer_config", _tokenizer_config, (RushlightError,), "text"),
    "tokenizer_tiktoken": Reader(
        "tokenizer_tiktoken", _in_file(".tiktoken", _tokenizer), (RushlightError,), "text"
    ),
    "tokenizer_model": Reader("tokenizer_model", _in_file(".model", _tokenizer), (RushlightError,), "bytes"),
    "yaml": Reader("yaml", _in_file(".yaml", lambda path: read_kernels(path, None)), (ValueError,), "text"),
    "custom_yaml": Reader(
        "yaml", _in_file(".yaml", lambda path: read_kernels(None, path)), (ValueError,), "text"
    ),
    "selected_yaml": Reader("selected_yaml", _in_file(".yaml", read_usage), (ValueError,), "text"),
    "kernel_table": Reader("kernel_table", _in_file(".txt", read_usage), (ValueError,), "text"),
    "buffers_csv": Reader("buffers_csv", _in_file(".csv", read_instance), (ValueError,), "text"),
    "usage": Reader("program", _in_file(".pte", read_usage), (ValueError,), "program"),
    "bundle_usage": Reader(
        "bundled_program", _in_file(".bpte", read_usage), (ValueError,), "bundled_program"
    ),
    "commands": Reader("program", _in_file(".pte", tools.program_commands), TOOL_ERRORS, "program"),
    "program_as_c": Reader("program", _in_file(".pte", tools.program_as_c), TOOL_ERRORS, "program"),
    "bundle_as_c": Reader(
        "bundled_program", _in_file(".bpte", tools.bundle_as_c), TOOL_ERRORS, "bundled_program"
    ),
    "loaded": Reader("program", _in_file(".pte", tools.loaded_program), TOOL_ERRORS, "program"),
    "pte_binary": Reader("program", _in_file(".pte", tools.pte_binary), (FormatError,), "program"),
    "inspector": Reader("etdump", _in_file(".etdp", tools.event_trace), (DevtoolsError,), "etdump"),
    "structure": Reader("structure", _in_file(".json", tools.structure), (RushlightError,), "text"),
    "structure_tree": Reader("structure", _in_file(".json", tools.structure), (RushlightError,), "json"),
    "ptn": Reader("ptn", _in_file(".ptn", tools.package), (FormatError,), "archive"),
    "edge_program": Reader(
        "edge_program", _in_file(".pt2", tools.edge_program), (DevtoolsError, RuntimeError), "archive"
    ),
    "npy": Reader("npy", _in_file(".npy", tools.inputs), (RushlightError,), "bytes"),
    "npz": Reader("npz", _in_file(".npz", tools.inputs), (RushlightError,), "archive"),
    "png": Reader("png", _in_file(".png", tools.inputs), (RushlightError,), "bytes"),
    "jpg": Reader("jpg", _in_file(".jpg", tools.inputs), (RushlightError,), "bytes"),
}


def _stop(number: int, frame: object) -> None:
    raise HangError(f"it did not end within {HANG_SECONDS:.0f} s")


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Limits the memory of the process, and the processor time of each call of `attempt`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGVTALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGVTALRM, handler)


def attempt(reader: Reader, data: bytes, scratch: Path, max_seconds: float | None) -> str | None:
    """Reads a file.

    Args:
        reader: the reader.
        data: the bytes of the file.
        scratch: a folder for the file.
        max_seconds: the limit of processor time in seconds; None means HANG_SECONDS alone.

    Returns:
        A description of the error, or None.
    """
    begin = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    try:
        reader.read(data, scratch)
    except reader.errors as error:
        # Python's own errors of recursion and memory are findings too.
        if type(error) in (RecursionError, MemoryError, NotImplementedError, UnicodeDecodeError):
            return traceback.format_exc()
        if not str(error):
            return f"{type(error).__name__} has no message"
    except (Exception, HangError):  # any other error is a finding
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.thread_time() - begin
    return f"it took {seconds:.1f} s" if max_seconds is not None and seconds > max_seconds else None


def _mutator(reader: Reader, library: Path) -> mutators.Mutate:
    special: dict[str, mutators.Mutate] = {
        "archive": mutators.archive,
        "bytes": mutators.some_bytes,
        "json": mutators.json_text,
        "text": mutators.text,
    }
    return special.get(reader.mutator) or mutators.tables(library, reader.mutator)


def run(
    name: str,
    corpus: Path,
    library: Path,
    seconds: float,
    seed: int,
    findings: Path,
    most: int | None = None,
    max_seconds: float | None = MAX_SECONDS,
) -> tuple[int, int]:
    """Reads changed seeds for a time, and writes each new finding with its traceback.

    Args:
        name: the name of the reader.
        corpus: the folder of seeds.
        library: the shared library of the mutator of tables.
        seconds: the time.
        seed: the seed of the random changes.
        findings: the folder for files that cause a finding.
        most: the largest number of files; None means no limit.
        max_seconds: the limit of processor time for one file in seconds; None means HANG_SECONDS alone.

    Returns:
        The numbers of files read, and of findings.
    """
    reader = READERS[name]
    seeds = [path.read_bytes() for path in sorted((corpus / reader.seeds).iterdir())]
    mutate = _mutator(reader, library)
    chosen = random.Random(seed)
    findings.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = {}
    count = 0
    # Modules and caches that a reader loads once do not count for the limits.
    for data in chosen.sample(seeds, min(len(seeds), WARM_UP)):
        with contextlib.suppress(*reader.errors):
            reader.read(data, findings)
    end = time.monotonic() + seconds
    while time.monotonic() < end and (most is None or count < most):
        data = mutate(chosen.choice(seeds), chosen)
        while chosen.randrange(4) == 0:
            data = mutate(data, chosen) if reader.mutator != "archive" else data
        count += 1
        with limited():
            fault = attempt(reader, data, findings, max_seconds)
        if fault is None or (key := "".join(fault.splitlines()[-4:-1]) or fault) in known:
            continue
        path = findings / f"{name}-{len(known)}"
        known[key] = path
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"python -m tests.fuzz replay {name} {path}\n\n{fault}")
        print(f"{name}: {path}\n{fault}", flush=True)
    return count, len(known)
