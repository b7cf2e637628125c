"""Runs the readers in Python on changed files.

Each must return a result or raise one of its declared errors.
"""

from __future__ import annotations

import io
import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz import mutators
from tests.llm.tokenizer_files import hugging_face_model

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
from rushlight.runtime.errors import RushlightError
from rushlight.select.kernels_yaml import read_kernels

MAX_SECONDS = 1.0  # time limit for one file


@dataclass(frozen=True)
class Reader:
    """A reader: the folder of its seeds, the function that reads a file, and the errors that it may raise."""

    seeds: str
    read: Callable[[bytes, Path], object]
    errors: tuple[type[Exception], ...]
    mutator: str  # a format of the mutator of tables, or "archive", "bytes" or "text"


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
}


def attempt(reader: Reader, data: bytes, scratch: Path) -> str | None:
    """Reads a file. Returns a description of the error, or None."""
    begin = time.thread_time()
    try:
        reader.read(data, scratch)
    except reader.errors as error:
        if not str(error):
            return f"{type(error).__name__} has no message"
    except Exception:  # any other error is a finding
        return traceback.format_exc()
    seconds = time.thread_time() - begin
    return f"it took {seconds:.1f} s" if seconds > MAX_SECONDS else None


def _mutator(reader: Reader, library: Path) -> mutators.Mutate:
    special: dict[str, mutators.Mutate] = {
        "archive": mutators.archive,
        "bytes": mutators.some_bytes,
        "text": mutators.text,
    }
    return special.get(reader.mutator) or mutators.tables(library, reader.mutator)


def run(name: str, corpus: Path, library: Path, seconds: float, seed: int, findings: Path) -> tuple[int, int]:
    """Reads changed seeds for a time, and writes each new finding with its traceback.

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
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutate(chosen.choice(seeds), chosen)
        while chosen.randrange(4) == 0:
            data = mutate(data, chosen) if reader.mutator != "archive" else data
        count += 1
        fault = attempt(reader, data, findings)
        if fault is None or (key := "".join(fault.splitlines()[-4:-1]) or fault) in known:
            continue
        path = findings / f"{name}-{len(known)}"
        known[key] = path
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"python -m tests.fuzz replay {name} {path}\n\n{fault}")
        print(f"{name}: {path}\n{fault}", flush=True)
    return count, len(known)
