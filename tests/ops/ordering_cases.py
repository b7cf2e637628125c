"""Cases for the kernels that sort, select and search: a list for every row of the table."""

from __future__ import annotations

import torch
from tests.ops.harness import BOOL, FLOATS, REAL, Case
from tests.ops.reduction_cases import INF, NAN, NUMBERS, Make, distinct, over_dim, whole
from tests.ops.samples import channels_last, tensor


def sorts(*prefix: object) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in NUMBERS:
            for dim in (0, 1, -1):
                cases += [Case(distinct(dtype, 3, 4, 5), *prefix, dim, down) for down in (False, True)]
        for down in (False, True):
            cases.append(Case(distinct(torch.float32, 2, 1000), *prefix, -1, down))
            cases.append(Case(torch.tensor([2.0, NAN, -INF, INF, 1.0]), *prefix, 0, down))
            cases.append(Case(tensor(torch.float32), *prefix, 0, down))
            cases.append(Case(tensor(torch.float32, 2, 0), *prefix, 1, down))
            cases.append(Case(channels_last(distinct(torch.float32, 2, 3, 4, 5)), *prefix, 1, down))
            if prefix:
                cases += [Case(tensor(dtype, 200), *prefix, 0, down) for dtype in REAL]
        return cases

    return make


def topks() -> list[Case]:
    cases = []
    for dtype in NUMBERS:
        for k, dim, largest in ((2, -1, True), (3, 0, False), (4, 1, True), (0, 1, True)):
            cases.append(Case(distinct(dtype, 3, 4, 5), k, dim, largest))
    cases += [
        Case(distinct(torch.float32, 2, 300), k, 1, largest)
        for k in (5, 40, 300)
        for largest in (True, False)
    ]
    cases += [Case(torch.tensor([2.0, NAN, 1.0, INF]), 2), Case(tensor(torch.float32), 1, 0)]
    cases.append(Case(tensor(torch.float32), 0, 0))  # eager PyTorch returns the element
    # Of equal elements, the kernels select the same as eager PyTorch.
    cases += [Case(tensor(torch.int64, n), k) for n, k in ((50, 3), (200, 3), (200, 20), (300, 300))]
    return cases


def buckets() -> list[Case]:
    cases = []
    for right in (False, True):
        for dtype in NUMBERS:
            boundaries = torch.tensor([0, 1, 3, 3, 4]).to(dtype)
            cases.append(Case(tensor(dtype, 3, 5), boundaries, right=right))
        cases.append(Case(tensor(torch.int64, 4), torch.tensor([-1.5, 0.5]), right=right))
        cases.append(Case(torch.tensor([NAN, INF, -INF]), torch.tensor([0.0, INF]), right=right))
        cases.append(Case(tensor(torch.float32, 4), torch.tensor([0.0]), out_int32=True, right=right))
    return cases


def searches() -> list[Case]:
    cases = []
    for right in (False, True):
        for dtype in NUMBERS:
            rows = tensor(dtype, 3, 6).sort(dim=1).values
            cases.append(Case(rows, tensor(dtype, 3, 4, seed=1), right=right))
            cases.append(Case(rows[0].clone(), tensor(dtype, 2, 3, seed=1), right=right))
        unsorted = tensor(torch.float32, 3, 6)
        cases.append(
            Case(unsorted, tensor(torch.float32, 3, 4, seed=1), right=right, sorter=unsorted.argsort(1))
        )
        ends = torch.tensor([0.0, 1.0, NAN, NAN])
        cases.append(Case(ends, torch.tensor([0.5, 5.0, NAN]), right=right))
    cases.append(Case(torch.tensor([1.0, 2.0]), torch.tensor([2.0, NAN]), side="right"))
    return cases


def histograms() -> list[Case]:
    cases = [
        Case(tensor(dtype, 50), bins, low, high)
        for dtype in FLOATS
        for bins, low, high in ((4, 0, 0), (7, -1, 2))
    ]
    return [*cases, Case(torch.tensor([2.0, 2.0]), 3), Case(torch.tensor([0.0, 1.0, NAN]), 2, 0, 1)]


def uniques(*flags: str) -> Make:
    def make() -> list[Case]:
        inputs = [tensor(dtype, 3, 4) for dtype in NUMBERS + BOOL]
        inputs += [torch.tensor([NAN, 1.0, NAN, 1.0, 1.0]), tensor(torch.int64), tensor(torch.int64, 60)]
        chosen = [dict.fromkeys(flags[:n], True) for n in range(len(flags) + 1)]
        return [Case(x, **kwargs) for x in inputs for kwargs in chosen]

    return make


CASES: dict[str, Make] = {
    "aten::_unique2.out": uniques("return_inverse", "return_counts"),
    "aten::argsort.stable_out": lambda: [
        Case(c.args[0], stable=True, dim=c.args[2], descending=c.args[3]) for c in sorts(True)()
    ],
    "aten::bucketize.Scalar_out": lambda: [
        Case(x, torch.tensor([-1.0, 0.0, 2.0]), right=right)
        for x in (-2, 0, 0.5, 9)
        for right in (False, True)
    ],
    "aten::bucketize.Tensor_out": buckets,
    "aten::histc.out": histograms,
    "aten::kthvalue.values": lambda: (
        [
            Case(distinct(dtype, 3, 4, 5), k, dim, keep)
            for dtype in NUMBERS
            for k, dim, keep in ((1, 0, False), (3, 1, True), (5, -1, False))
        ]
        + [Case(torch.tensor([NAN, 1.0, 0.0]), k) for k in (1, 3)]
    ),
    "aten::median.dim_values": over_dim(NUMBERS, unique=True, empty=False),
    "aten::median.out": whole(NUMBERS),
    "aten::mode.values": lambda: [
        Case(torch.tensor([[3, 1, 3, 1], [2, 2, 0, 4], [5, 6, 7, 8]], dtype=dtype), 1, keep)
        for dtype in NUMBERS
        for keep in (False, True)
    ],
    "aten::searchsorted.Tensor_out": searches,
    "aten::sort.values": sorts(),
    "aten::sort.values_stable": lambda: [
        Case(c.args[0], stable=True, dim=c.args[2], descending=c.args[3]) for c in sorts(True)()
    ],
    "aten::topk.values": topks,
    "aten::unique_consecutive.out": uniques("return_inverse", "return_counts"),
}
