"""Models of the zoo with control flow, dynamic shapes, state and several methods agree in every call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from models.zoo import control_flow as _control_flow  # noqa: F401  (registers its models)
from models.zoo import modules as _modules  # noqa: F401
from models.zoo.cases import ZOO
from models.zoo.run import measure

STATE = (
    "state_shared_between_methods kv_cache_slice kv_cache_int_position cache_rolled initialised_state "
    "state_returned_itself state_two_views running_statistics input_mutated cache_in_an_attribute"
).split()
VALUES = (
    "scalar_inputs none_input_and_output constant_outputs inputs_returned unused_input keyword_inputs "
    "bool_tensors integer_arithmetic string_input"
).split()
RECURRENT = "lstm_bidirectional lstm_with_state lstm_dynamic_batch gru_bidirectional lstm_cell_loop".split()
OTHERS = "vmapped gradient_inside sorting linear_solvers windows_and_counts losses complex_rotary".split()

NAMES = [name for name in ZOO if name.startswith("control_flow/")]
NAMES += [f"modules/{name}" for name in (*STATE, *VALUES, *RECURRENT, *OTHERS)]


@pytest.fixture(autouse=True)
def modes() -> Iterator[None]:
    gradients, threads = torch.is_grad_enabled(), torch.get_num_threads()
    yield
    torch.set_grad_enabled(gradients)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_eager(name: str) -> None:
    result = measure(name)
    assert result["outcome"] == "ok", result.get("reason")
