"""Tables for terminals."""

from __future__ import annotations

from rushlight.ir.text_table import grid_table


def test_a_table_with_a_frame() -> None:
    assert grid_table(("name", "n"), [("abcdefg", 5), ("b", 1234)]).splitlines() == [
        "╒════╤═════════╤══════╕",
        "│    │ name    │    n │",
        "╞════╪═════════╪══════╡",
        "│  0 │ abcdefg │    5 │",
        "├────┼─────────┼──────┤",
        "│  1 │ b       │ 1234 │",
        "╘════╧═════════╧══════╛",
    ]
    assert grid_table(("name",), []).count("\n") == 4
