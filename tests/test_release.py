"""The scripts that build releases."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

CODE = r"""// A comment with "one quote
#include "a//b.h"  /* two
lines */
const char* text = "// no comment \" /* none */";  // a comment
constexpr int count = 1'000'000;  // it's a comment
constexpr char quote = '"', slash = '/';  // "
const char* raw = R"x(// no comment)" /* none */)x";
int a/**/b;
"""
CMAKE = """# A comment.
if(A)  # a comment
  # A comment.
  check("
#include <a.h>
")
endif()
"""
EXPECTED_CMAKE = """if(A)  # a comment
  check("
#include <a.h>
")
endif()
"""
EXPECTED = r"""#include "a//b.h"
const char* text = "// no comment \" /* none */";
constexpr int count = 1'000'000;
constexpr char quote = '"', slash = '/';
const char* raw = R"x(// no comment)" /* none */)x";
int a b;
"""


def test_sources_in_wheels_have_no_comments(tmp_path: Path) -> None:
    """Toolchain files keep their comments. Lines that have only a comment are left out."""
    sources = {
        "CMakeLists.txt": (CMAKE, EXPECTED_CMAKE),
        "cmake/toolchains/a.cmake": (CMAKE, CMAKE),
        "exec/a.cpp": (CODE, EXPECTED),
        "include/rushlight/a.h": (CODE, EXPECTED),
    }
    for name, (text, _) in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    names, archive = tmp_path / "names.txt", tmp_path / "sources.tar.xz"
    names.write_text("\n".join(sources))
    script = ROOT / "scripts/release/pack_sources.py"
    subprocess.run([sys.executable, script, tmp_path, names, archive], check=True)
    with tarfile.open(archive) as files:
        packed = {entry.name: files.extractfile(entry) for entry in files}
        texts = {name: file.read().decode() for name, file in packed.items() if file}
    assert texts == {name: packed for name, (_, packed) in sources.items()}
