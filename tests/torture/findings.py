"""Failures: groups of similar failures, and files that describe them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.torture.case import Case, from_json, operators, reproduction, to_json
from tests.torture.configurations import FURTHER, NAMES, QUANTIZER_TEXT, TEXT
from tests.torture.minimise import minimise
from tests.torture.pool import Death, run_jobs
from tests.torture.run import Finding, from_dict, run, to_dict

ANYWHERE = "any"
"""The configuration of a finding whose process ended before its configuration was known."""


def key(message: str) -> str:
    """Returns a message without the parts that depend on the case, such as names and numbers."""
    text = re.sub(r"method '\w+', (?:load|instruction \d+ of chain \d+)( \([^)]*\))?:", "", message)
    text = text.split(" list: (")[0]
    text = re.sub(r"\(debug handle \d+\)|\[[^\]]*\]|'[^']*'|`[^`]*`|\"[^\"]*\"", "_", text)
    text = re.sub(r"\b\w+_\d+\b|-?\d[\d.e+-]*|0x[0-9a-f]+", "N", text)
    return " ".join(text.split())[:110]


def rough(kind: str, findings: Sequence[Finding]) -> str:
    """Returns the signature of a failure before it is minimised."""
    configurations = "+".join(f.configuration for f in findings)
    first = findings[0]
    detail = kind if first.outcome in ("wrong", "unrepeatable", "changed") else key(first.message)
    return f"{first.outcome} {configurations} {detail}"


def alike(finding: Finding, other: Finding) -> bool:
    """Whether two findings are similar."""
    if finding.outcome != other.outcome:
        return False
    return finding.outcome in ("wrong", "unrepeatable", "changed") or key(finding.message) == key(
        other.message
    )


@dataclass
class Group:
    """Failures with the same signature. case: a minimised case. seen: (seed, index) of all cases."""

    signature: str
    case: Case
    findings: list[Finding]
    text: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list)


def run_alone(cases: Iterable[Case], configurations: Sequence[str], threads: Sequence[int]) -> Iterable[Any]:
    """Runs each case in a separate process, and yields (case, Result or Death)."""

    def work(case: Case) -> Any:
        return to_dict(run(case, configurations, threads))

    for case, result in run_jobs(list(cases), work, workers=1, batch=8, seconds=60):
        yield case, result if isinstance(result, Death) else from_dict(result)


def locate(case: Case, finding: Finding) -> Finding:
    """Tries the configurations one by one, and returns a finding with the one that ends the process."""
    if finding.configuration != ANYWHERE:
        return finding
    for configuration in (*NAMES, *FURTHER):
        for _, result in run_alone([case], (configuration,), (1, 2)):
            if isinstance(result, Death):
                return Finding(configuration, result.reason, result.message, threads=2)
    return finding


def minimised(case: Case, finding: Finding, seconds: float) -> dict[str, Any]:
    """Returns the smallest case with a similar failure, and its findings in all configurations."""
    finding = locate(case, finding)
    configurations = () if finding.configuration == ANYWHERE else (finding.configuration,)
    threads = (1,) if finding.threads == 1 else (1, 2)

    def attempt(cases: Iterable[Case]) -> Case | None:
        for candidate, result in run_alone(cases, configurations, threads):
            found = [_of(result)] if isinstance(result, Death) else result.findings
            if any(alike(finding, f) for f in found):
                made: Case = candidate
                return made
        return None

    if configurations:
        case = minimise(case, attempt, finding.call, seconds)
    findings, text = [], ""
    for configuration in TEXT:
        for _, result in run_alone([case], (configuration,), (1, 2)):
            if isinstance(result, Death):
                findings.append(Finding(configuration, result.reason, result.message))
                text = result.text
            else:
                findings += result.findings
    kept = [f for f in findings if alike(f, finding)] or [finding]
    return {"case": to_json(case), "findings": [vars(f) for f in kept], "text": text}


def _of(death: Death) -> Finding:
    return Finding(ANYWHERE, death.reason, death.message)


def group(made: dict[str, Any]) -> Group:
    """Returns a result of `minimised` as a group with its signature."""
    case = from_json(made["case"])
    findings = [Finding(**f) for f in made["findings"]]
    first = findings[0]
    configurations = "+".join(dict.fromkeys(f.configuration for f in findings))
    parts = [first.outcome, configurations, *([case.quantizer] if case.quantizer else [])]
    if first.outcome in ("wrong", "unrepeatable", "changed", "crash", "hang"):
        parts.append(" ".join(operators(case)))
    else:
        parts.append(key(first.message))
    return Group(" | ".join(parts), case, findings, made["text"])


def write(folder: Path, groups: Sequence[Group]) -> None:
    """Writes a .py and a .json file for each group, and README.md as their index."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Failures of random modules", "", "| file | cases | signature |", "|---|---|---|"]
    for found in sorted(groups, key=lambda g: (g.findings[0].outcome, -len(g.seen))):
        name = file_name(found)
        (folder / f"{name}.py").write_text(script(found))
        (folder / f"{name}.json").write_text(to_json(found.case))
        lines.append(f"| {name}.py | {len(found.seen)} | {found.signature.replace('|', '·')} |")
    (folder / "README.md").write_text("\n".join([*lines, ""]))


def file_name(found: Group) -> str:
    words = re.findall(r"[A-Za-z]\w*", " ".join([*operators(found.case)][:3]))
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:6]
    return "-".join([found.findings[0].outcome, *words, digest]).lower()


def script(found: Group) -> str:
    """Returns a script that reproduces the failure."""
    first = found.findings[0]
    lines = [found.signature, ""]
    lines += [
        f"{f.configuration}, {f.threads} threads, call {f.call}: {f.message[:400]}" for f in found.findings
    ]
    lines += ["", "Seen with (seed, index): " + ", ".join(map(str, found.seen[:12]))]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return reproduction(
        found.case,
        TEXT.get(first.configuration, ""),
        QUANTIZER_TEXT.get(found.case.quantizer, ""),
        text,
        first.threads,
    )


def load_results(path: Path) -> list[dict[str, Any]]:
    """Returns the results in a file. An incomplete last line is ignored."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found
