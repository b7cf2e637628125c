"""The user's own kernels in a selective build: C++ sources that the build compiles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TABLE = re.compile(r"^\s*RUSHLIGHT_KERNEL_LIBRARY\s*\(", re.M)
_ROW = re.compile(r'\{\s*"(\w+::\w+(?:\.\w+)?)"\s*,')


@dataclass(frozen=True)
class OwnSources:
    """C++ sources with kernels.

    Attributes:
        tables: the sources that define a kernel table with RUSHLIGHT_KERNEL_LIBRARY.
        others: the sources without a kernel table.
        operators: the operators in the rows of the tables.
    """

    tables: Sequence[Path] = ()
    others: Sequence[Path] = ()
    operators: frozenset[str] = frozenset()


def read_own_sources(paths: Sequence[Path]) -> OwnSources:
    """Finds the kernel tables in C++ sources.

    Args:
        paths: the sources.

    Raises:
        ValueError: a source does not exist or has several tables, or no source has a table.
    """
    tables, others = [], []
    operators: set[str] = set()
    for path in dict.fromkeys(path.resolve() for path in paths):
        if not path.is_file():
            raise ValueError(f"--own-sources {path}: the file does not exist")
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        count = len(_TABLE.findall(text))
        if count > 1:
            raise ValueError(
                f"--own-sources {path}: the file has {count} tables; put each "
                "RUSHLIGHT_KERNEL_LIBRARY into a file of its own, or all rows into one table"
            )
        if count == 0:
            others.append(path)
            continue
        tables.append(path)
        operators |= set(_ROW.findall(text))
    if paths and not tables:
        raise ValueError(
            "--own-sources: no file defines a kernel table; append "
            'RUSHLIGHT_KERNEL_LIBRARY("name", rows) to one of them, where rows is a constexpr array of Kernel'
        )
    return OwnSources(tables, others, frozenset(operators))


def own_header(own: OwnSources) -> str:
    """Returns the text of own_kernels.h, which declares the functions that return the tables."""
    names = table_names(own)
    declared = "\n".join(f"KernelTable {name}();" for name in names)
    listed = ", ".join(f"::rushlight::own::{name}()" for name in names)
    return f"""// Written by `rushlight select`: the tables of your own kernels.
#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight::own {{

{declared}

}}  // namespace rushlight::own

#define RUSHLIGHT_OWN_TABLES {listed}
"""


def own_variables(own: OwnSources, folder: Path) -> str:
    """Returns the lines for the user's sources in selection.cmake.

    Args:
        own: the sources.
        folder: the folder of the project. Paths of sources inside the folder are written relative to it.
    """
    folder = folder.resolve()

    def place(path: Path) -> str:
        if path.is_relative_to(folder):
            return f"${{CMAKE_CURRENT_LIST_DIR}}/{path.relative_to(folder).as_posix()}"
        return path.as_posix()

    named = zip(table_names(own), own.tables, strict=True)
    tables = "\n".join(f'  "{name}={place(path)}"' for name, path in named)
    others = "\n".join(f'  "{place(path)}"' for path in own.others)
    return f"set(RUSHLIGHT_OWN_TABLES\n{tables})\nset(RUSHLIGHT_OWN_SOURCES\n{others})\n"


def table_names(own: OwnSources) -> list[str]:
    """Returns the names of the C++ functions that return the tables."""
    return [f"table_{index}" for index in range(len(own.tables))]
