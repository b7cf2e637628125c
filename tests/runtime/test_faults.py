"""Full disks, and files that change during loading, cause an error or have no effect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "0.1.0"
PROGRAM = GOLDEN / "rows-kernels.pte"
X = np.load(PROGRAM.with_suffix(".npz"))["0.input.0"]
RUNNER = Path(sys.executable).with_name("executor_runner")

WRITE_WITH_A_LIMIT = """
import resource, sys
from pathlib import Path
from rushlight.format.pte import read_pte_file, write_pte_to_file
file = read_pte_file(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_pte_to_file(file, sys.argv[2])
except OSError as error:
    print(error.errno)
"""


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.pte"
    target.write_bytes(b"the old file")
    command = [sys.executable, "-c", WRITE_WITH_A_LIMIT, str(PROGRAM), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "27"  # EFBIG
    assert target.read_bytes() == b"the old file" and list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_an_event_trace_for_a_full_disk() -> None:
    module = rushlight.load(PROGRAM, enable_etdump=True)
    first = np.asarray(module(X))
    with pytest.raises(OSError, match="No space left"):
        module.write_etdump_result_to_file("/dev/full")
    np.testing.assert_array_equal(np.asarray(module(X)), first)
    command = [str(RUNNER), "--model_path", str(GOLDEN / "image-kernels.pte"), "--etdump_path", "/dev/full"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "No space left" in done.stderr


def test_a_file_that_is_replaced_while_it_is_loaded(tmp_path: Path) -> None:
    """The program keeps the file from which it was loaded."""
    path, other = tmp_path / "model.pte", tmp_path / "other.pte"
    path.write_bytes(PROGRAM.read_bytes())
    module = rushlight.load(path)
    first = np.asarray(module(X))
    other.write_bytes(b"something else")
    os.replace(other, path)
    np.testing.assert_array_equal(np.asarray(module(X)), first)
    path.unlink()
    np.testing.assert_array_equal(np.asarray(module(X)), first)


def test_bytes_do_not_depend_on_their_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(PROGRAM.read_bytes())
    module = rushlight.load(path.read_bytes())
    os.truncate(path, 0)
    assert np.isfinite(np.asarray(module(X))).all()
