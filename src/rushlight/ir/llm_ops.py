"""Operators of language models, `llama::*`: attention over a cache of keys and values, and cache updates.

The operators are composed of torch operators, so that every backend can run them. The position of the first
token is a number. It may be symbolic if the program reads it from a tensor.
"""

from __future__ import annotations

import math

import torch
from torch.library import Library

_LIBRARY = Library("llama", "FRAGMENT")

_ATTENTION = "Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None"
_SCHEMAS = (
    "update_cache(Tensor value, Tensor(a!) cache, SymInt start_pos) -> Tensor",
    "update_cache_with_indices(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices) -> Tensor",
    f"custom_sdpa(Tensor query, Tensor key, Tensor value, SymInt start_pos, {_ATTENTION}) -> Tensor",
    "sdpa_with_kv_cache(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, "
    f"Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, {_ATTENTION}) -> Tensor",
    f"custom_quantized_sdpa(Tensor query, Tensor key, Tensor value, SymInt start_pos, {_ATTENTION}, "
    "Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None, Tensor? k_scales=None, "
    "Tensor? v_zero_points=None, Tensor? v_scales=None, bool is_seq_at_dim_2=False) -> Tensor",
    "fast_hadamard_transform(Tensor mat) -> Tensor",
)


def update_cache(value: torch.Tensor, cache: torch.Tensor, start_pos: int) -> torch.Tensor:
    """Writes keys or values of new tokens into a cache.

    Args:
        value: [batch, tokens, heads, size].
        cache: [batch, positions, heads, size] of the same dtype. It is changed in place.
        start_pos: the position of the first token.

    Returns:
        A tensor of one element without a meaning.

    Raises:
        ValueError: the shapes or dtypes are wrong, or the tokens exceed the last position.
    """
    _check_value(value, cache)
    tokens = value.shape[1]
    if isinstance(start_pos, int) and isinstance(tokens, int):
        if start_pos < 0 or start_pos + tokens > int(cache.shape[1]):
            raise ValueError(
                f"{tokens} tokens from position {start_pos} exceed the cache of {cache.shape[1]} positions"
            )
    places = torch.add(torch.arange(tokens, device=cache.device), start_pos)
    cache.index_copy_(1, places, value)
    return value.new_zeros(1)


def update_cache_with_indices(
    value: torch.Tensor, cache: torch.Tensor, start_pos: int, indices: torch.Tensor
) -> torch.Tensor:
    """Writes keys or values of new tokens to given positions of a cache.

    Args:
        value: [batch, tokens, heads, size].
        cache: [batch, positions, heads, size] of the same dtype. It is changed in place.
        start_pos: ignored, because `indices` contains all positions.
        indices: int64 [batch, tokens], the position of each token. Tokens outside the cache are ignored.

    Returns:
        A tensor of one element without a meaning.

    Raises:
        ValueError: the shapes or dtypes are wrong.
    """
    _check_value(value, cache)
    if indices.dtype != torch.int64 or indices.shape != value.shape[:2]:
        raise ValueError(
            f"indices must be int64 of shape {list(value.shape[:2])}, not {indices.dtype} of shape "
            f"{list(indices.shape)}"
        )
    positions = cache.shape[1]
    places = torch.where((indices < 0) | (indices >= positions), positions, indices)
    # Ignored tokens are written to an additional last position.
    longer = torch.cat([cache, torch.zeros_like(cache[:, :1])], 1)
    batch = torch.arange(cache.shape[0], device=cache.device)[:, None].expand(indices.shape)
    cache.copy_(longer.index_put((batch, places), value)[:, :positions])
    return value.new_zeros(1)


def custom_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Computes attention of new tokens over the cache positions up to and including the new tokens.

    Args:
        query: [batch, tokens, heads, size].
        key: [batch, positions, key heads, size]; the heads are a multiple of the key heads.
        value: as `key`.
        start_pos: the position of the first token. Positions from `start_pos + tokens` are not read.
        attn_mask: [tokens, positions] or [tokens, start_pos + tokens], added to the scores, or None.
        drpout_p: must be 0, because there is no dropout at inference.
        is_causal: whether a token attends only to positions up to its own.
        scale: the factor of the scores, by default 1 / sqrt(size).

    Returns:
        [batch, tokens, heads, size].

    Raises:
        ValueError: the shapes or dtypes are wrong.
    """
    _check_attention(query, key, value, attn_mask, drpout_p)
    tokens, heads, size = query.shape[1:]
    positions, key_heads = key.shape[1:3]
    factor = 1 / math.sqrt(size) if scale is None else scale
    q, k, v = (item.transpose(1, 2) for item in (query, key, value))
    if heads != key_heads:
        k, v = (item.repeat_interleave(heads // key_heads, 1) for item in (k, v))
    place = torch.arange(positions, device=query.device)[None]
    # Without `is_causal`, every token attends to the same positions as the last token.
    first = 0 if is_causal else tokens - 1
    own = torch.arange(first, tokens, device=query.device)[:, None]
    products = q @ k.transpose(2, 3) * factor
    if attn_mask is not None:
        missing = positions - attn_mask.shape[1]
        products = products + torch.nn.functional.pad(attn_mask, (0, missing)).to(query.dtype)
    products = products.masked_fill(place > torch.add(own, start_pos), -math.inf)
    return (products.softmax(-1) @ v).transpose(1, 2).contiguous()


def sdpa_with_kv_cache(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    start_pos: int,
    seq_len: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Writes keys and values of new tokens into caches, and returns `custom_sdpa` over the caches."""
    update_cache(key, key_cache, start_pos)
    update_cache(value, value_cache, start_pos)
    return custom_sdpa(query, key_cache, value_cache, start_pos, attn_mask, drpout_p, is_causal, scale)


def custom_quantized_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    q_zero_points: torch.Tensor | None = None,
    q_scales: torch.Tensor | None = None,
    k_zero_points: torch.Tensor | None = None,
    k_scales: torch.Tensor | None = None,
    v_zero_points: torch.Tensor | None = None,
    v_scales: torch.Tensor | None = None,
    is_seq_at_dim_2: bool = False,
) -> torch.Tensor:
    """Returns `custom_sdpa` of tensors with one scale and zero point for each token and head.

    Args:
        query: int8 [batch, tokens, heads, size]; [batch, heads, tokens, size] if `is_seq_at_dim_2`.
        key: int8, in the same order of dimensions, with positions in place of tokens.
        value: as `key`.
        start_pos: the position of the first token, as in `custom_sdpa`.
        attn_mask: the mask, as in `custom_sdpa`.
        drpout_p: must be 0.
        is_causal: whether a token attends only to positions up to its own.
        scale: the factor of the scores, by default 1 / sqrt(size).
        q_zero_points: the zero points of the query, int8 of its shape with 1 in place of the size.
        q_scales: the scales of the query, float32 of the shape of `q_zero_points`.
        k_zero_points: the zero points of the key, as `q_zero_points`.
        k_scales: the scales of the key, as `q_scales`.
        v_zero_points: the zero points of the value, as `q_zero_points`.
        v_scales: the scales of the value, as `q_scales`.
        is_seq_at_dim_2: whether tokens and positions are dimension 2, and heads dimension 1.

    Returns:
        float32 of the shape of the query.

    Raises:
        ValueError: the shapes or dtypes are wrong, or scales or zero points are missing.
    """
    values = (
        _dequantized("query", query, q_scales, q_zero_points),
        _dequantized("key", key, k_scales, k_zero_points),
        _dequantized("value", value, v_scales, v_zero_points),
    )
    if not is_seq_at_dim_2:
        return custom_sdpa(*values, start_pos, attn_mask, drpout_p, is_causal, scale)
    q, k, v = (item.transpose(1, 2) for item in values)
    result = custom_sdpa(q, k, v, start_pos, attn_mask, drpout_p, is_causal, scale)
    return result.transpose(1, 2).contiguous()


def fast_hadamard_transform(mat: torch.Tensor) -> torch.Tensor:
    """Multiplies each row by a Hadamard matrix and divides by the square root of n.

    Rows of n elements, n a power of two, are multiplied by Sylvester's matrix of order n. Rows of 28 n
    elements are multiplied by the Kronecker product of Williamson's matrix of order 28 and that matrix.

    Args:
        mat: [..., n] or [..., 28 * n].

    Raises:
        ValueError: the rows have another size.
    """
    size = int(mat.shape[-1])
    group = size // 28 if size % 28 == 0 else size
    if group < 1 or group & (group - 1):
        raise ValueError(
            f"a Hadamard transform of rows of {size} is not supported; the size must be a power of two, or "
            "28 times a power of two"
        )
    result, half = mat.reshape(-1, size), 1
    while half < group:
        pairs = result.reshape(-1, size // (2 * half), 2, half)
        first, second = pairs[:, :, 0], pairs[:, :, 1]
        result = torch.stack([first + second, first - second], 2).reshape(-1, size)
        half *= 2
    if group != size:
        result = _hadamard_28(mat) @ result.reshape(-1, 28, group)
    return (result / math.sqrt(group)).reshape(mat.shape)


def _hadamard_28(like: torch.Tensor) -> torch.Tensor:
    """Returns Williamson's Hadamard matrix of order 28, with the dtype and device of a tensor.

    Its 4 x 4 blocks are symmetric circulant matrices of order 7. The block in row r and column c has the
    number r ^ c, and its elements are positive at the offsets 0 and +-number from the diagonal. Six blocks
    are negated.
    """
    place = torch.arange(28, device=like.device)
    row, column = place[:, None], place[None]
    block = torch.bitwise_xor(row // 7, column // 7)
    offset = (row - column) % 7
    positive = (offset == 0) | ((block != 0) & ((offset == block) | (offset == 7 - block)))
    number = row // 7 * 4 + column // 7
    negated = torch.zeros_like(positive)
    for one in (4, 6, 8, 11, 12, 13):
        negated = negated | (number == one)
    return torch.where(positive != negated, 1.0, -1.0).to(like.dtype)


def _dequantized(
    name: str, quantized: torch.Tensor, scales: torch.Tensor | None, zero_points: torch.Tensor | None
) -> torch.Tensor:
    """Returns (quantized - zero points) * scales in float32."""
    if scales is None or zero_points is None:
        raise ValueError(f"llama::custom_quantized_sdpa: the {name} needs scales and zero points")
    expected = (*quantized.shape[:-1], 1)
    if quantized.dtype != torch.int8 or scales.shape != expected or zero_points.shape != expected:
        raise ValueError(
            f"llama::custom_quantized_sdpa: the {name} must be int8 with scales and zero points of shape "
            f"{list(expected)}; it is {quantized.dtype} with {list(scales.shape)} and "
            f"{list(zero_points.shape)}"
        )
    return (quantized.float() - zero_points.float()) * scales.float()


def _check_value(value: torch.Tensor, cache: torch.Tensor) -> None:
    if value.dim() != 4 or cache.dim() != 4 or value.dtype != cache.dtype:
        raise ValueError(
            "new values and their cache must have 4 dimensions and the same dtype; they are "
            f"{value.dtype} {list(value.shape)} and {cache.dtype} {list(cache.shape)}"
        )
    if any(value.shape[dim] != cache.shape[dim] for dim in (0, 2, 3)):
        raise ValueError(
            f"values {list(value.shape)} and a cache {list(cache.shape)} may differ only in dim 1"
        )


def _check_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, dropout: float
) -> None:
    if query.dim() != 4 or key.dim() != 4 or key.shape != value.shape:
        raise ValueError(
            "query, key and value must have 4 dimensions, and key and value the same shape; they are "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    if not query.dtype.is_floating_point or {key.dtype, value.dtype} != {query.dtype}:
        raise ValueError(
            f"query, key and value are {query.dtype}, {key.dtype} and {value.dtype}, not the same float type"
        )
    if query.shape[2] % key.shape[2] or query.shape[3] != key.shape[3]:
        raise ValueError(
            f"{query.shape[2]} heads of size {query.shape[3]} do not match {key.shape[2]} key heads of size "
            f"{key.shape[3]}: the sizes must be equal, and heads a multiple of key heads"
        )
    if dropout:
        raise ValueError(f"drpout_p is {dropout}; it must be 0, because dropout is only for training")
    if mask is not None and mask.dim() != 2:
        raise ValueError(f"attn_mask must have 2 dimensions, not {mask.dim()}")


for _schema in _SCHEMAS:
    _name = _schema.partition("(")[0]
    if not hasattr(torch.ops.llama, _name):
        _LIBRARY.define(_schema)
        _LIBRARY.impl(_name, globals()[_name], "CompositeImplicitAutograd")
