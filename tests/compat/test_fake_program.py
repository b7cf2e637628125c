"""Programs without the values of their weights."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import export

from rushlight.compat.fake_program import get_fake_program, update_to_real_program


def test_weights_leave_and_come_back() -> None:
    x = torch.randn(2, 3)
    model = torch.nn.Linear(3, 3)
    program = export(model, (x,))
    fake = get_fake_program(program)
    assert all(isinstance(tensor, FakeTensor) for tensor in fake.state_dict.values())
    assert not any(isinstance(tensor, FakeTensor) for tensor in program.state_dict.values())
    assert fake.graph_signature == program.graph_signature and fake.constants is program.constants
    assert fake.graph_signature is not program.graph_signature
    update_to_real_program(fake, program)
    torch.testing.assert_close(fake.module()(x), model(x))


def test_a_graph_without_values() -> None:
    program = export(torch.nn.ReLU(), (torch.ones(2),))
    for node in program.graph.nodes:
        node.meta.pop("val", None)
    with pytest.raises(AssertionError, match=r"have no fake tensors: \['input'\]"):
        get_fake_program(program)
