"""The recurrence of linear attention with gates, in eager PyTorch and in programs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir import delta_rule_ops  # noqa: F401  (defines the operator)
from rushlight.runtime import load

llama: Any = torch.ops.llama


def samples(
    tokens: int, heads: int = 4, state_heads: int = 2, scalar: bool = False
) -> tuple[torch.Tensor, ...]:
    """Returns the arguments for a batch of 2, keys of 5 numbers and values of 6 numbers."""
    decay = torch.rand(2, state_heads, tokens) if scalar else torch.rand(2, state_heads, tokens, 5)
    return (
        torch.randn(2, heads, tokens, 5),
        torch.randn(2, state_heads, tokens, 5),
        torch.randn(2, state_heads, tokens, 6),
        decay,
        torch.rand(2, state_heads, tokens),
        torch.randn(2, state_heads, 5, 6),
    )


def reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes every element of the state from its definition."""
    factors = decay if decay.dim() == 4 else decay[..., None].expand_as(key)
    outputs, group = [], query.shape[1] // key.shape[1]
    for t in range(query.shape[2]):
        state = torch.einsum("bhkv,bhk->bhkv", state, factors[:, :, t])
        error = value[:, :, t] - torch.einsum("bhkv,bhk->bhv", state, key[:, :, t])
        state = state + torch.einsum("bhk,bhv,bh->bhkv", key[:, :, t], error, beta[:, :, t])
        outputs.append(torch.einsum("bhkv,bhk->bhv", state.repeat_interleave(group, 1), query[:, :, t]))
    return torch.stack(outputs, 2), state


@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("tokens", [1, 8, 9, 40])
def test_the_recurrence(tokens: int, scalar: bool) -> None:
    inputs = samples(tokens, scalar=scalar)
    before = inputs[-1].clone()
    torch.testing.assert_close(llama.gated_delta_rule(*inputs), reference(*inputs), rtol=1e-4, atol=1e-4)
    assert torch.equal(inputs[-1], before)


def test_no_tokens() -> None:
    inputs = samples(0)
    output, state = llama.gated_delta_rule(*inputs)
    assert output.shape == (2, 4, 0, 6) and torch.equal(state, inputs[-1])


def test_the_former_name() -> None:
    inputs = samples(3, heads=2)
    torch.testing.assert_close(llama.channelwise_gated_delta_rule(*inputs), llama.gated_delta_rule(*inputs))


@pytest.mark.parametrize("name", ["gated_delta_rule", "channelwise_gated_delta_rule"])
def test_the_out_variant(name: str) -> None:
    inputs, output, state = samples(3), torch.empty(1), torch.empty(2, 2, 5, 6)
    found = getattr(llama, name).out(*inputs, out=output, final_state_out=state)
    assert found[0] is output and found[1] is state
    torch.testing.assert_close(found, llama.gated_delta_rule(*inputs))
    with pytest.raises(RuntimeError, match="final_state_out must not alias initial_state"):
        llama.gated_delta_rule.out(*inputs, out=output, final_state_out=inputs[-1][:1])
    with pytest.raises(RuntimeError, match="must have the shape"):
        llama.gated_delta_rule.out(
            inputs[0][..., 1:], *inputs[1:], out=output, final_state_out=torch.empty(0)
        )
    torch.testing.assert_close(output, llama.gated_delta_rule(*inputs)[0])


@pytest.mark.parametrize(
    ("position", "shape", "message"),
    [
        (0, (2, 3, 4, 5), "3 heads of the query are not a multiple of 2 state heads"),
        (1, (2, 2, 4), "must have 4 dimensions"),
        (3, (2, 2, 3), r"decay must have the shape \[2, 2, 4\] for a key \[2, 2, 4, 5\], not \[2, 2, 3\]"),
        (5, (2, 2, 6, 5), "initial_state must have the shape"),
    ],
)
def test_wrong_shapes(position: int, shape: tuple[int, ...], message: str) -> None:
    inputs = list(samples(4))
    inputs[position] = torch.rand(shape)
    with pytest.raises(RuntimeError, match=message):
        llama.gated_delta_rule(*inputs)


def test_wrong_dtypes() -> None:
    inputs = list(samples(4))
    inputs[4] = inputs[4].double()
    with pytest.raises(RuntimeError, match="beta must be float32, not torch.float64"):
        llama.gated_delta_rule(*inputs)


class Rule(torch.nn.Module):
    def forward(self, *inputs: torch.Tensor) -> Any:
        return llama.gated_delta_rule(*inputs)


@pytest.mark.parametrize("delegated", [False, True])
@pytest.mark.parametrize("tokens", [1, 12])
def test_programs(tokens: int, delegated: bool) -> None:
    inputs = samples(tokens)
    partitioner = [CpuPartitioner()] if delegated else []
    program = to_edge_transform_and_lower(export(Rule(), inputs), partitioner=partitioner).to_executorch()
    results = load(program.buffer)(*inputs)
    torch.testing.assert_close(tuple(results), reference(*inputs), rtol=1e-4, atol=1e-4)


def test_a_program_for_any_number_of_tokens() -> None:
    tokens = Dim("tokens", min=1, max=64)
    shapes = ((*({2: tokens} for _ in range(5)), None),)
    exported = export(Rule(), samples(12), dynamic_shapes=shapes)
    module = load(to_edge_transform_and_lower(exported).to_executorch().buffer)
    for count in (1, 30):
        inputs = samples(count)
        results = module(*inputs)
        torch.testing.assert_close(tuple(results), reference(*inputs), rtol=1e-4, atol=1e-4)
