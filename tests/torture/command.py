"""The command `python -m tests.torture`."""

from __future__ import annotations

import argparse
import collections
import functools
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tests.torture import findings as reports
from tests.torture.case import Case, from_json, source
from tests.torture.configurations import FURTHER, NAMES
from tests.torture.execute import Calls, Sanitized, execute
from tests.torture.fast_export import remember_operators
from tests.torture.generate import generate
from tests.torture.pool import Death, run_jobs
from tests.torture.run import Execute, Finding, Result, from_dict, run, to_dict

Job = tuple[int, int]
BATCH = 20
SANITIZED_BATCH = 200
SECONDS = 180.0


@functools.cache
def _sanitized(native: str) -> Sanitized:
    """Returns the process in which programs of this worker run."""
    return Sanitized(native)


def _executor(arguments: argparse.Namespace) -> Execute:
    if not arguments.sanitized:
        return execute

    def run_there(blob: bytes, threads: int, calls: Sequence[tuple[Any, ...]]) -> Calls:
        try:
            return _sanitized(arguments.sanitized).execute(blob, threads, calls)
        except RuntimeError as error:
            _sanitized.cache_clear()
            return Calls(error=str(error))

    return run_there


def main(arguments: argparse.Namespace) -> int:
    """Runs the command, and returns its exit status: 1 if a case fails."""
    warm()
    if arguments.case or arguments.index is not None:
        if arguments.case:
            case = from_json(Path(arguments.case).read_text())
        else:
            case = generate(arguments.seed, arguments.index)
        return one(case, _configurations(arguments))
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / f"results-{arguments.seed}.jsonl"
    if not arguments.resume:
        results.unlink(missing_ok=True)
    known = reports.load_results(results)
    start = time.perf_counter()
    made = run_all(arguments, {r["index"] for r in known}, results)
    every = [r for r in known if r["index"] < arguments.start + arguments.cases] + made
    print(table(every))
    if made:
        print(costs(made, time.perf_counter() - start))
    failed = [r for r in every if r["result"]["findings"]]
    if failed and arguments.minimise:
        groups = minimise_all(failed, arguments)
        reports.write(folder / "findings", groups)
        for found in sorted(groups, key=lambda g: -len(g.seen)):
            print(f"{len(found.seen):5}  {found.signature}")
            print(f"       {reports.file_name(found)}.py {found.seen[0]}")
    return 1 if failed else 0


def warm() -> None:
    """Imports modules that export and compilers import lazily, for all forked processes.

    It starts no thread.
    """
    torch.set_num_threads(1)
    remember_operators()
    for index in range(3):
        run(generate(0, index), threads=(1,))
    gc.collect()
    gc.freeze()
    threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
    if threads > 1:
        print(f"note: {threads} threads run before the first fork", file=sys.stderr)


def _configurations(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(filter(None, arguments.configurations.split(",")))


def one(case: Case, configurations: tuple[str, ...]) -> int:
    """Runs one case in a separate process, and prints its source and its results."""
    print(source(case))
    failed = False
    for _, result in reports.run_alone([case], configurations, (1, 2)):
        if isinstance(result, Death):
            print(f"{result.reason}: {result.message}\n{result.text}")
            failed = True
            continue
        print(result.skipped and f"skipped: {result.skipped}", "passed:", *result.passed)
        for f in result.findings:
            print(f"{f.configuration}, {f.threads} threads, call {f.call}: {f.outcome}: {f.message}")
        failed = failed or bool(result.findings)
    return int(failed)


def run_all(arguments: argparse.Namespace, done: set[int], results: Path) -> list[dict[str, Any]]:
    """Runs the cases that have no result yet. Every result is a line of the file."""
    jobs = [
        (arguments.seed, i)
        for i in range(arguments.start, arguments.start + arguments.cases)
        if i not in done
    ]
    configurations = _configurations(arguments)
    executor = _executor(arguments)
    batch = SANITIZED_BATCH if arguments.sanitized else BATCH

    def work(job: Job) -> Any:
        before = time.perf_counter()
        case = generate(*job)
        took = time.perf_counter() - before
        if not case.kind.startswith(arguments.kinds):
            return to_dict(Result(kind=case.kind, skipped="kind"))
        result = run(case, configurations, executor=executor)
        result.seconds["generate"] = took
        return to_dict(result)

    made = []
    with results.open("a") as file:
        for number, (job, result) in enumerate(
            run_jobs(jobs, work, workers=arguments.workers, batch=batch, seconds=SECONDS), 1
        ):
            row = {"seed": job[0], "index": job[1], "result": result}
            if isinstance(result, Death):
                row["result"] = to_dict(_dead(job, result))
            if row["result"]["skipped"] != "kind":
                file.write(json.dumps(row) + "\n")
                file.flush()
                made.append(row)
            show(job, from_dict(row["result"]))
            if number % 500 == 0:
                print(f"-- {number} of {len(jobs)}", flush=True)
    return made


def _dead(job: Job, death: Death) -> Result:
    found = Finding(reports.ANYWHERE, death.reason, f"{death.message} {death.text[-1500:]}".strip())
    return Result(findings=[found], kind=generate(*job).kind)


def show(job: Job, result: Result) -> None:
    """Prints one line for a failing case."""
    if result.findings:
        first = result.findings[0]
        where = "+".join(f.configuration for f in result.findings)
        place = f"--seed {job[0]} --index {job[1]}"
        print(f"{place}: {result.kind}: {first.outcome} ({where}): {first.message[:160]}", flush=True)


def minimise_all(failed: list[dict[str, Any]], arguments: argparse.Namespace) -> list[reports.Group]:
    """Minimises some failures of each rough signature, and groups them by their final signatures."""
    alike: dict[str, list[tuple[Job, Finding]]] = collections.defaultdict(list)
    for row in failed:
        found = from_dict(row["result"])
        label = reports.rough(found.kind, found.findings)
        alike[label].append(((row["seed"], row["index"]), found.findings[0]))
    jobs = [(label, *item) for label, items in alike.items() for item in items[: arguments.minimise]]
    print(f"minimising {len(jobs)} of {len(failed)} failures", flush=True)

    def work(job: tuple[str, Job, Finding]) -> Any:
        _, place, finding = job
        return reports.minimised(generate(*place), finding, arguments.seconds)

    groups: dict[str, reports.Group] = {}
    of_label: dict[str, str] = {}
    for (label, place, _), made in run_jobs(
        jobs, work, workers=arguments.workers, batch=1, seconds=10 * arguments.seconds + SECONDS
    ):
        if isinstance(made, Death):
            print(f"minimising {place}: {made.reason}: {made.message}")
            continue
        alone = reports.group(made)
        group = groups.setdefault(alone.signature, alone)
        group.seen.append(place)
        of_label.setdefault(label, group.signature)
    for label, items in alike.items():
        if label in of_label:
            groups[of_label[label]].seen += [place for place, _ in items[arguments.minimise :]]
    return list(groups.values())


def table(rows: list[dict[str, Any]]) -> str:
    """Returns a table of cases by kind and configuration: passed cases and failures."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        result = from_dict(row["result"])
        for kind in (result.kind, "all"):
            count = counts[kind]
            count["cases"] += 1
            count["skipped"] += bool(result.skipped)
            for name in result.passed:
                count[f"{name} passed"] += 1
            for f in result.findings:
                count[f"{f.configuration} {f.outcome}"] += 1
    used = counts["all"]
    names = [n for n in (*NAMES, *FURTHER, reports.ANYWHERE) if any(k.startswith(f"{n} ") for k in used)]
    lines = [f"{'kind':28} {'cases':>6} {'skipped':>7}  " + "  ".join(f"{n:24}" for n in names)]
    for kind in sorted(counts, key=lambda k: (k == "all", k)):
        count = counts[kind]
        cells = []
        for name in names:
            parts = [f"{count[f'{name} passed']}"]
            for label, number in sorted(count.items()):
                what = label.removeprefix(f"{name} ")
                if label.startswith(f"{name} ") and what != "passed":
                    parts.append(f"{number} {what}")
            cells.append(f"{', '.join(parts):24}")
        lines.append(f"{kind:28} {count['cases']:6} {count['skipped']:7}  " + "  ".join(cells))
    return "\n".join(lines)


def costs(rows: list[dict[str, Any]], seconds: float) -> str:
    """Returns a line with the milliseconds for a case, by stage."""
    total: collections.Counter[str] = collections.Counter()
    for row in rows:
        total.update(row["result"]["seconds"])
    parts = [f"{stage} {1000 * spent / len(rows):.0f}" for stage, spent in total.most_common()]
    return f"{1000 * seconds / len(rows):.0f} ms for each case; ms by stage in a process: {', '.join(parts)}"
