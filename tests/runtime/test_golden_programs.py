"""Programs of released versions run in this version, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.devtools.etdump import deserialize_from_etdump_flatcc
from rushlight.format.pte import read_pte_file, write_pte
from rushlight.runtime import BundledModule

GOLDEN = Path(__file__).parents[1] / "golden" / "programs"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
PROGRAMS = sorted(GOLDEN.glob("*/*.pte"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_results_are_the_same(path: Path) -> None:
    arrays = np.load(path.with_suffix(".npz"))
    data = sorted(str(file) for file in path.parent.glob(f"{path.stem}*.ptd"))
    module = rushlight.load(path, data_path=data or None)
    calls = 1 + max(int(name.split(".")[0]) for name in arrays)
    for call in range(calls):
        inputs = [arrays[name] for name in sorted(arrays) if name.startswith(f"{call}.input.")]
        wanted = [arrays[name] for name in sorted(arrays) if name.startswith(f"{call}.output.")]
        result = module(*inputs)
        results = result if isinstance(result, (tuple, list)) else (result,)
        assert len(results) == len(wanted)
        for value, want in zip(results, wanted, strict=True):
            # The order and the fusion of sums depend on the instruction set.
            np.testing.assert_allclose(np.asarray(value), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_contents_are_read_and_written(path: Path) -> None:
    file = read_pte_file(path)
    again = write_pte(file)
    assert [plan.name for plan in file.program.execution_plan] == ["forward"]
    assert rushlight.load(again).method_names == {"forward"}


@pytest.mark.parametrize("version", VERSIONS)
def test_bundles_run(version: str) -> None:
    (path,) = (GOLDEN / version).glob("*.bpte")
    module = BundledModule(path.read_bytes())
    assert module.num_test_cases("forward") == 2
    for case in range(2):
        module.verify_result_with_bundled_expected_output("forward", case, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_event_traces_are_read(version: str) -> None:
    (path,) = (GOLDEN / version).glob("*.etdp")
    dump = deserialize_from_etdump_flatcc(path.read_bytes())
    assert [run.name for run in dump.run_data] == ["Default", "Execute"]
    names = {event.profile_event.name for event in dump.run_data[1].events or [] if event.profile_event}
    assert "native_call_sin.out" in names


def test_the_present_version_has_files() -> None:
    assert rushlight.__version__ in VERSIONS
