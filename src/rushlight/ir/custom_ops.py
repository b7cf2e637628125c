"""Operators that Rushlight defines because ATen has no out variant for them.

`rushlight::grouped_mm(input, weight, ends)` multiplies each row of `input` [S, K] by the matrix of its group
in `weight` [G, K, N]. The rows are sorted by group. Group g ends before row `ends[g]` (int32 or int64 [G]).
The result [S, N] has zeros in the rows after the last group.
"""

from __future__ import annotations

import torch

_SCHEMAS = (
    "grouped_mm(Tensor input, Tensor weight, Tensor ends) -> Tensor",
    "grouped_mm.out(Tensor input, Tensor weight, Tensor ends, *, Tensor(a!) out) -> Tensor(a!)",
)


def _grouped_mm(input: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    result = input.new_zeros(input.shape[0], weight.shape[2])
    start = 0
    for group, end in enumerate(ends.tolist()):
        result[start:end] = input[start:end] @ weight[group]
        start = end
    return result


def _grouped_mm_meta(input: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return input.new_empty(input.shape[0], weight.shape[2])


def _grouped_mm_out(
    input: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor, *, out: torch.Tensor
) -> torch.Tensor:
    return out.copy_(_grouped_mm(input, weight, ends))


def _register() -> torch.library.Library:
    library = torch.library.Library("rushlight", "FRAGMENT")
    if not hasattr(torch.ops.rushlight, "grouped_mm"):
        for schema in _SCHEMAS:
            library.define(schema)
        library.impl("grouped_mm", _grouped_mm, "CPU")
        library.impl("grouped_mm", _grouped_mm_meta, "Meta")
        library.impl("grouped_mm.out", _grouped_mm_out, "CPU")
    return library


_library = _register()

grouped_mm = torch.ops.rushlight.grouped_mm.default
