"""Readers in Python give a declared error for changed files. `make fuzz-python` changes many more files."""

import shutil
import warnings
from pathlib import Path

import pytest
from tests.fuzz.corpus import write_seeds
from tests.fuzz.library import build_mutator
from tests.fuzz.readers import READERS, run

FILES = 20  # for each reader

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None, reason="the mutator of tables needs a C++ compiler"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_mutator(tmp_path_factory.mktemp("mutator"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_seeds(folder, quick=True)
    return folder


@pytest.mark.parametrize("name", list(READERS))
def test_changed_files_give_declared_errors(name: str, library: Path, corpus: Path, tmp_path: Path) -> None:
    if not (corpus / READERS[name].seeds).is_dir():
        pytest.skip("there are no seeds, because a library for the format is not installed")
    count, findings = run(name, corpus, library, 600.0, 7, tmp_path, FILES, max_seconds=None)
    assert count == FILES
    assert findings == 0, "\n".join(path.read_text() for path in sorted(tmp_path.glob("*.txt")))
