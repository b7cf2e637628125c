"""The operator `llama::gated_delta_rule`, the recurrence of linear attention with gates.

The operator is composed of torch operators, so that every backend can run it. A program for a symbolic or
large number of tokens contains a loop (`scan`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.scan import scan_op
from torch.library import Library

_LIBRARY = Library("llama", "FRAGMENT")
_ARGUMENTS = "Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state"
_OUT = "Tensor(a!) out, Tensor(b!) final_state_out"
_NAMES = ("gated_delta_rule", "channelwise_gated_delta_rule")  # The second is a former name.

_LONGEST_WITHOUT_LOOP = 8


def gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Updates a state with one token after the other, and reads it for each token.

    For each token, the state S is multiplied by the decay. Then S += key ⊗ beta (value - key·S), and the
    output is query·S.

    Args:
        query: float32 [batch, heads, tokens, key size]; the heads are a multiple of the state heads.
        key: float32 [batch, state heads, tokens, key size].
        value: float32 [batch, state heads, tokens, value size].
        decay: float32, factors of the state: [batch, state heads, tokens, key size], or one factor for each
            token and head: [batch, state heads, tokens].
        beta: float32 [batch, state heads, tokens], the part of the new value that is written.
        initial_state: float32 [batch, state heads, key size, value size].

    Returns:
        The outputs [batch, heads, tokens, value size], and the state after the last token.

    Raises:
        RuntimeError: the shapes or dtypes are wrong.
    """
    _check(query, key, value, decay, beta, initial_state)
    if decay.dim() == 3:
        decay = decay.unsqueeze(-1)
    tokens = query.shape[2]
    sequences = [item.movedim(2, 0) for item in (query, key, value, decay, beta)]
    if isinstance(tokens, int) and tokens <= _LONGEST_WITHOUT_LOOP:
        state, outputs = initial_state.clone(), []
        for token in range(tokens):
            state, output = _step(state, *(item[token] for item in sequences))
            outputs.append(output)
        shape = (*query.shape[:3], value.shape[3])
        return torch.stack(outputs, 2) if outputs else query.new_zeros(shape), state
    scan: Any = scan_op
    state, result = scan(_step, [initial_state], sequences, ())
    return result.movedim(0, 2).contiguous(), state


def _step(
    state: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
) -> list[torch.Tensor]:
    """Returns the state after one token, and the output of the token."""
    state = state * decay.unsqueeze(-1)
    row = key.unsqueeze(2)
    delta = (value.unsqueeze(2) - row @ state) * beta[..., None, None]
    state = state + row.transpose(2, 3) * delta
    grouped = query.reshape(state.shape[0], state.shape[1], -1, query.shape[2])
    return [state, (grouped @ state).reshape(*query.shape[:2], value.shape[2])]


def _check(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> None:
    tensors = {
        "query": query,
        "key": key,
        "value": value,
        "decay": decay,
        "beta": beta,
        "initial_state": state,
    }
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            raise RuntimeError(f"llama::gated_delta_rule: {name} must be float32, not {tensor.dtype}")
    if any(tensor.dim() != 4 for tensor in (query, key, value, state)):
        raise RuntimeError(
            "llama::gated_delta_rule: query, key, value and initial_state must have 4 dimensions; they are "
            f"{list(query.shape)}, {list(key.shape)}, {list(value.shape)} and {list(state.shape)}"
        )
    batch, heads, tokens, size = key.shape
    expected = {
        "query": (batch, query.shape[1], tokens, size),
        "value": (batch, heads, tokens, value.shape[3]),
        "decay": (batch, heads, tokens, size)[: 4 if decay.dim() == 4 else 3],
        "beta": (batch, heads, tokens),
        "initial_state": (batch, heads, size, value.shape[3]),
    }
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise RuntimeError(
                f"llama::gated_delta_rule: {name} must have the shape {list(shape)} for a key "
                f"{list(key.shape)}, not {list(tensors[name].shape)}"
            )
    if query.shape[1] % heads:
        raise RuntimeError(
            f"llama::gated_delta_rule: {query.shape[1]} heads of the query are not a multiple of {heads} "
            "state heads"
        )


def _write(
    *inputs: torch.Tensor, out: torch.Tensor, final_state_out: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Writes the results to tensors, which are resized."""
    if final_state_out.untyped_storage().data_ptr() == inputs[-1].untyped_storage().data_ptr():
        raise RuntimeError("llama::gated_delta_rule: final_state_out must not alias initial_state")
    for target, result in zip((out, final_state_out), gated_delta_rule(*inputs), strict=True):
        target.resize_(result.shape).copy_(result)
    return out, final_state_out


for _name in _NAMES:
    if not hasattr(torch.ops.llama, _name):
        _LIBRARY.define(f"{_name}({_ARGUMENTS}) -> (Tensor, Tensor)")
        _LIBRARY.impl(_name, gated_delta_rule, "CompositeImplicitAutograd")
        _LIBRARY.define(f"{_name}.out({_ARGUMENTS}, *, {_OUT}) -> (Tensor(a!), Tensor(b!))")
        _LIBRARY.impl(f"{_name}.out", _write, "CompositeExplicitAutograd")
