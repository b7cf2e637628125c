"""Passes over edge programs: folding, copies, write-back, specs, views, out variants."""

from __future__ import annotations

import pytest
import torch

from rushlight.compile.edge import to_edge
from rushlight.delegate.program_copy import copy_program
from rushlight.ir import memory_ops, meta
from rushlight.ir.errors import MissingOutVariantError
from rushlight.ir.spec import TensorShapeDynamism, TensorSpec
from rushlight.passes.base import run_passes
from rushlight.passes.fold_batch_norm import FoldBatchNorm
from rushlight.passes.fold_constants import FoldConstants
from rushlight.passes.give_specs import SpecPropPass, mark_constants
from rushlight.passes.memory_views import NormalizeViewBases, UseMemoryViews
from rushlight.passes.out_variants import ToOutVarPass
from rushlight.passes.remove_copies import RemoveCopies
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from rushlight.passes.write_back import WriteBackMutations


def edge_of(module, *inputs, **options):
    program = torch.export.export(module.eval(), inputs, **options)
    return copy_program(to_edge(program).exported_program())


def apply(program_pass, program):
    result = program_pass(program)
    result.exported_program.graph.lint()
    result.exported_program.validate()
    return result


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_fold_batch_norm(transposed, groups, bias, calls):
    kind = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    norm = torch.nn.BatchNorm2d(6)
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            tensor.uniform_(-2, 2)
        norm.running_var.uniform_(0.1, 3)
    net = torch.nn.Sequential(kind(4, 6, 3, groups=groups, bias=bias), norm, torch.nn.ReLU())
    x = torch.randn(2, 4, 8, 8)
    program = edge_of(net, x)
    result = apply(FoldBatchNorm(), program)
    assert result.modified and calls(program.graph_module) == ["convolution.default", "relu.default"]
    torch.testing.assert_close(program.module()(x), net.eval()(x), rtol=1e-5, atol=1e-5)


def test_batch_norm_after_a_shared_convolution_stays(calls):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(2, 2, 1), torch.nn.BatchNorm2d(2)

        def forward(self, x):
            y = self.conv(x)
            return self.norm(y) + y

    program = edge_of(Net(), torch.randn(1, 2, 3, 3))
    assert not FoldBatchNorm()(program).modified


def test_fold_constants(calls):
    net = torch.nn.Linear(40, 50)
    x = torch.randn(3, 40)
    program = edge_of(net, x)
    assert calls(program.graph_module) == ["permute_copy.default", "addmm.default"]
    apply(FoldConstants(), program)
    assert calls(program.graph_module) == ["addmm.default"]
    folded = next(name for name in program.state_dict if name.startswith("_folded_tensor_constant"))
    torch.testing.assert_close(program.state_dict[folded], net.weight.t().detach())
    torch.testing.assert_close(program.module()(x), net(x))


def test_constants_that_would_grow_the_file_are_not_folded(calls):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("row", torch.randn(1, 64))
            self.weight = torch.nn.Parameter(torch.randn(64, 64))

        def forward(self, x):
            wide = self.row.expand(64, 64).clone()
            return x @ self.weight.t() + wide + self.weight

    program = edge_of(Net(), torch.randn(64, 64))
    apply(FoldConstants(), program)
    names = calls(program.graph_module)
    assert "expand_copy.default" in names  # 16 KiB out of 256 bytes
    assert "permute_copy.default" in names  # the weight is read as it is, too


def test_written_buffers_are_no_constants(export_case, calls):
    program = copy_program(to_edge(export_case("counter")).exported_program())
    before = calls(program.graph_module).count("add.Tensor")
    FoldConstants()(program)
    assert calls(program.graph_module).count("add.Tensor") == before


def test_remove_copies(calls):
    class Net(torch.nn.Module):
        def forward(self, x):
            y = torch.relu(x.clone()).contiguous()
            return torch.neg(torch.nn.functional.dropout(y, 0.5, False)), x.clone()

    x = torch.randn(2, 3)
    program = edge_of(Net(), x)
    apply(RemoveCopies(), program)
    # What is returned must not be an input itself.
    assert calls(program.graph_module) == [
        "relu.default",
        "neg.default",
        "dim_order_ops._clone_dim_order.default",
    ]
    torch.testing.assert_close(program.module()(x), (-torch.relu(x), x))


def test_copies_of_written_buffers_stay(calls):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.zeros(3))

        def forward(self, x):
            before = self.state.clone()
            self.state.add_(x)
            return before

    program = edge_of(Net(), torch.ones(3))
    assert not RemoveCopies()(program).modified


def test_write_back(export_case):
    program = copy_program(to_edge(export_case("kv_cache")).exported_program())
    apply_back = WriteBackMutations()(program)
    assert apply_back.modified
    copy = program.graph.output_node().args[0][0]
    assert copy.target is torch.ops.aten.copy_.default
    assert copy.args[0].name == "b_cache" and copy.args[1].name == "aten_index_put_default"
    assert program.graph_signature.output_specs[0].arg.name == copy.name


def test_specs(export_case):
    program = copy_program(to_edge(export_case("max_dim")).exported_program())
    SpecPropPass()(program.graph_module)
    mark_constants(program, program.graph_module)
    for node in program.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor):
            spec = meta.get_spec(node)
            assert isinstance(spec, TensorSpec) and list(spec.shape) == list(val.shape)
            assert spec.dtype == val.dtype
    values = next(node for node in program.graph.nodes if node.name == "aten_max_dim")
    item = next(node for node in program.graph.nodes if node.name == "getitem")
    assert meta.get_spec(item) is meta.get_spec(values)[0]


def test_layouts_that_no_kernel_knows_become_row_major():
    x = torch.empty_strided((2, 3, 4), (1, 2, 6))
    program = edge_of(torch.nn.ReLU(), x)
    SpecPropPass()(program.graph_module)
    for node in program.graph.nodes:
        for spec in meta.tensor_specs(node):
            assert tuple(spec.dim_order) == (0, 1, 2) and tuple(spec.stride) == (12, 4, 1)


@pytest.mark.parametrize(
    ("shape_pass", "batch"), [(ConstraintBasedSymShapeEvalPass, 16), (HintBasedSymShapeEvalPass, 3)]
)
def test_symbolic_shapes(shape_pass, batch, export_case):
    program = copy_program(to_edge(export_case("dynamic_batch")).exported_program())
    run_passes(program.graph_module, [SpecPropPass(), shape_pass()])
    spec = meta.get_spec(next(node for node in program.graph.nodes if node.name == "x"))
    assert spec.shape == [batch, 4] and tuple(spec.stride) == (4, 1)
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    flat = meta.get_spec(next(node for node in program.graph.nodes if node.name == "aten_view_copy_default"))
    assert flat.shape == [batch * 5]


def test_a_dim_without_bound_makes_an_unbounded_tensor():
    program = edge_of(torch.nn.ReLU(), torch.randn(3, 4), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    run_passes(program.graph_module, [SpecPropPass(), ConstraintBasedSymShapeEvalPass()])
    spec = meta.get_spec(next(iter(program.graph.nodes)))
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND


def test_memory_views(calls):
    class Net(torch.nn.Module):
        def forward(self, x, image):
            y = x.view(6, 4).view(2, 12)
            return torch.relu(y), image.relu().flatten(1) + 1, x.view(24)

    image = torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last)
    program = edge_of(Net(), torch.randn(2, 3, 4), image)
    run_passes(program.graph_module, [NormalizeViewBases(), SpecPropPass(), UseMemoryViews()])
    by_name = {node.name: node for node in program.graph.nodes}
    assert by_name["aten_view_copy_default_1"].target is memory_ops.view
    assert by_name["aten_view_copy_default_1"].args[0].name == "x"
    outputs = program.graph.output_node().args[0]
    assert outputs[2].target is not memory_ops.view  # the caller may own an output's memory
    layouts = [node for node in program.graph.nodes if node.target is memory_ops.view]
    assert all(
        tuple(meta.get_spec(node.args[0]).dim_order) == tuple(range(len(node.args[0].meta["val"].shape)))
        for node in layouts
    )


def test_out_variants(export_case):
    program = copy_program(to_edge(export_case("split")).exported_program())
    module = run_passes(program.graph_module, [SpecPropPass(), ToOutVarPass()])
    for node in module.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            assert node.target._schema.is_mutable, node
    split = next(node for node in module.graph.nodes if "split" in str(node.target))
    alloc = split.kwargs["out"]
    assert alloc.target is memory_ops.alloc and isinstance(alloc.args[0], list)
    # An operator that returns nothing is read through what it wrote.
    if not split.target._schema.returns:
        assert not split.users and alloc.users


def test_out_variants_run_in_eager_mode(export_case):
    program = copy_program(to_edge(export_case("activations")).exported_program())
    x = torch.randn(4, 6)
    expected = program.module()(x)
    module = run_passes(program.graph_module, [SpecPropPass(), ToOutVarPass()])
    constants = [
        program.state_dict.get(spec.target, program.constants.get(spec.target))
        for spec in program.graph_signature.input_specs
        if spec.kind.name != "USER_INPUT"
    ]
    for want, got in zip(expected, module(*constants, x), strict=True):
        torch.testing.assert_close(got, want)


def test_operators_without_out_variants_are_listed_with_their_lines():
    library = torch.library.Library("rushlight_tests", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("rushlight_tests::twice", lambda x: torch.empty_like(x), lib=library)

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.rushlight_tests.twice(x)  # the guilty line

    program = edge_of(Net(), torch.randn(2))
    SpecPropPass()(program.graph_module)
    with pytest.raises(MissingOutVariantError) as error:
        ToOutVarPass()(program.graph_module)
    text = str(error.value)
    assert "rushlight_tests.twice.default" in text and "float32" in text
    assert "test_program_passes.py:" in text and "rushlight_tests::twice.out" in text
    ToOutVarPass(ignore_to_out_var_failure=True)(program.graph_module)
