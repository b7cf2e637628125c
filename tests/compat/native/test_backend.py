"""The backend: its options, and the two places for constants."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import export

from rushlight.compat.native.backend import (
    EXTERNAL_CONSTANTS_TAG_KEY,
    PTN_SERIALIZATION_KEY,
    NativeBackend,
    NativeDelegateInfo,
    parse_options,
)
from rushlight.compat.native.tables import deserialize_program
from rushlight.delegate.backend import CompileSpec
from rushlight.exir import to_edge

FILE = CompileSpec(EXTERNAL_CONSTANTS_TAG_KEY, b"weights")
PACKAGE = CompileSpec(PTN_SERIALIZATION_KEY, b"1")


def test_options() -> None:
    assert parse_options([]) == (None, False)
    assert parse_options([CompileSpec("other", b"")]) == (None, False)
    assert parse_options([FILE]) == ("weights", False)
    assert parse_options([PACKAGE]) == (None, True)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([FILE, FILE], "duplicate compile spec 'external_constants_tag'"),
        ([CompileSpec(PTN_SERIALIZATION_KEY, b"0")], "must have value b'1', not b'0'"),
        ([FILE, PACKAGE], "cannot be combined with 'external_constants_tag'"),
    ],
)
def test_invalid_options(specs: list[CompileSpec], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_options(specs)


def test_constants() -> None:
    module = nn.Linear(3, 2)
    program = to_edge(export(module, (torch.ones(1, 3),))).exported_program()
    inside, outside, handed = (NativeBackend.preprocess(program, specs) for specs in ([], [FILE], [PACKAGE]))
    assert inside.processed_bytes == outside.processed_bytes == handed.processed_bytes
    (method,) = deserialize_program(inside.processed_bytes).methods
    keys = {constant.data_key for constant in method.constants or []}
    assert keys == {"weight", "bias"}
    assert inside.data_store_output is not None and inside.data_store_output.pte_data.keys() == keys
    assert outside.data_store_output is not None
    assert outside.data_store_output.external_data["weights"].keys() == keys
    assert handed.data_store_output is None and isinstance(handed._delegate_info_meta, NativeDelegateInfo)
    weight = handed._delegate_info_meta.constants["weight"]
    assert weight.data_ptr() == module.weight.data_ptr() and not weight.requires_grad
