"""The order of passes between dialects. Nothing else lives here."""

from __future__ import annotations

from typing import Any

from rushlight.passes.body_layouts import SettleBodyLayouts
from rushlight.passes.dead_code import RemoveDeadCode
from rushlight.passes.debug_handles import GiveDebugHandles
from rushlight.passes.fold_batch_norm import FoldBatchNorm
from rushlight.passes.fold_constants import FoldConstants
from rushlight.passes.fold_quantize_pairs import FoldQuantizePairs
from rushlight.passes.functional_views import FunctionalViews
from rushlight.passes.fuse_quantized import FuseQuantized
from rushlight.passes.give_specs import SpecPropPass
from rushlight.passes.legalize_dim_order import LegalizeDimOrder
from rushlight.passes.memory_views import NormalizeViewBases, UseMemoryViews
from rushlight.passes.prim_ops import UsePrimOps
from rushlight.passes.promote_dtypes import PromoteDtypes
from rushlight.passes.prune_empty_cat import PruneEmptyCat
from rushlight.passes.quantized_rewriter import Available
from rushlight.passes.remove_asserts import METADATA_ASSERTS, RemoveAsserts
from rushlight.passes.remove_copies import RemoveCopies
from rushlight.passes.remove_noops import RemoveNoopConversions, RemoveNoopSlices, SqueezeStaticDims
from rushlight.passes.scalar_to_tensor import ScalarToTensor
from rushlight.passes.simplify_permutes import SimplifyPermutes
from rushlight.passes.sym_to_tensor import SymToTensor
from rushlight.passes.weights_to_outputs import WeightsToOutputs
from rushlight.passes.widen_selections import WidenSelections
from rushlight.passes.write_back import WriteBackMutations


def core_aten_to_edge() -> list[Any]:
    """Over Core ATen, before its operators become edge operators."""
    return [
        RemoveAsserts(METADATA_ASSERTS),
        WidenSelections(),
        FunctionalViews(),
        SettleBodyLayouts(),
        ScalarToTensor(),
        SymToTensor(),
        RemoveNoopSlices(),
        SqueezeStaticDims(),
        PruneEmptyCat(),
        RemoveNoopConversions(),
        FoldQuantizePairs(),
        PromoteDtypes(),
        RemoveDeadCode(),
    ]


def edge_cleanup() -> list[Any]:
    """Over a new edge program."""
    return [RemoveDeadCode(), GiveDebugHandles()]


def edge_program_optimizations(available: Available) -> list[Any]:
    """Over an edge program that is about to be lowered; numbers change by rounding alone.

    available: which kernels the target has, such as ("aten::add.out", "int8").
    """
    return [FuseQuantized(available), FoldBatchNorm(), RemoveCopies(), FoldConstants()]


def edge_graph_optimizations() -> list[Any]:
    """Over the graph of an edge program, before the optimizations of the whole program."""
    return [SimplifyPermutes()]


def edge_program_lowering() -> list[Any]:
    """Over an edge program, before its graph is lowered."""
    return [WeightsToOutputs(), WriteBackMutations()]


def edge_to_specs(dim_order: bool) -> list[Any]:
    """Over the graph of an edge program: everything before specs are marked as constant."""
    return [*([LegalizeDimOrder()] if dim_order else []), SpecPropPass()]


def specs_to_out_variants(remove_view_copy: bool, sym_shape_eval: Any, to_out_variants: Any) -> list[Any]:
    """From a graph with specs to out variants over allocations."""
    views = [NormalizeViewBases(), RemoveDeadCode(), UseMemoryViews()] if remove_view_copy else []
    return [UsePrimOps(), RemoveAsserts(), *views, sym_shape_eval, to_out_variants]
