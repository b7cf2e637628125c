"""`python -m tests.fuzz`: see docs/fuzzing.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Writes the seeds of the fuzzers, and fuzzes the readers in Python.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    corpus = commands.add_parser("corpus", help="write the seeds into folders by format")
    corpus.add_argument("folder", type=Path)
    readers = commands.add_parser("readers", help="run the readers in Python on changed files")
    readers.add_argument("corpus", type=Path, help="the folder of seeds")
    readers.add_argument(
        "--mutator", type=Path, help="the shared library rushlight_mutator (default: it is built)"
    )
    readers.add_argument(
        "--seconds", type=float, default=60.0, help="time in seconds for all readers together"
    )
    readers.add_argument("--seed", type=int, default=0)
    readers.add_argument("--only", nargs="*", default=(), help="names of readers")
    readers.add_argument("--findings", type=Path, default=Path("build/fuzz/findings"))
    replay = commands.add_parser("replay", help="run one reader on one file")
    replay.add_argument("reader")
    replay.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.command == "corpus":
        from tests.fuzz.corpus import write_corpus

        for kind, count in write_corpus(options.folder).items():
            print(f"{count:6} {kind}")
        return 0
    from tests.fuzz.library import build_mutator
    from tests.fuzz.readers import MAX_SECONDS, READERS, attempt, run

    if options.command == "replay":
        fault = attempt(READERS[options.reader], options.file.read_bytes(), options.file.parent, MAX_SECONDS)
        print(fault or "no fault")
        return int(fault is not None)
    names = options.only or list(READERS)
    mutator = options.mutator or build_mutator(options.corpus.with_name("mutator"))
    faults = 0
    for name in names:
        if not (options.corpus / READERS[name].seeds).is_dir():
            print(f"{name}: no seeds", flush=True)
            continue
        count, found = run(
            name,
            options.corpus,
            mutator,
            options.seconds / len(names),
            options.seed,
            options.findings,
        )
        print(f"{name}: {count} files, {found} findings", flush=True)
        faults += found
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
