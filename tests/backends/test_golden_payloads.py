"""The payloads of both native backends for some small programs are equal to golden files."""

from __future__ import annotations

from pathlib import Path

from tests.fresh import run_python

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "golden" / "backends"


def test_payloads_are_the_recorded_ones(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "golden_payloads.py"
    done = run_python(script, str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    recorded = {path.name: path.read_bytes() for path in RECORDED.iterdir()}
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert recorded.keys() == written.keys() and len(recorded) >= 6
    changed = sorted(name for name in recorded if recorded[name] != written[name])
    assert not changed, (
        f"{changed} in {RECORDED.relative_to(ROOT)} differ from what the backends write. Find out why "
        "first: files that users compiled before hold the old bytes and must still load, or be refused with "
        '"compile again". If the change is wanted, `make golden` records it.'
    )
