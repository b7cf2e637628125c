"""The generators of quantized and creation operators, for the calls in the tests of the kernels."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.aot_c.harness import Library, assert_same_bits, compile_library, compilers
from tests.aot_c.one_call import Call, CallProgram, inputs_of
from tests.aot_c.recorded import calls_of
from tests.ops import test_create, test_quantized_affine, test_quantized_operators

from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.generators import dynamic, quantization, quantized
from rushlight.aot_c.generators.table import GENERATORS
from rushlight.aot_c.program import c_program

MODULES = {
    "create": test_create,
    "quantized_affine": test_quantized_affine,
    "quantized_operators": test_quantized_operators,
}


def check_calls(calls: list[Call], folder: Path, compiler: str, constants: bool) -> set[str]:
    """Requires equal bits, and returns the compared operators."""
    program = CallProgram(constants)
    compared = []
    for call in calls:
        one = CallProgram(constants)
        one.add(call.name, call.arguments, call.outs)
        try:
            c_program(one.bytes(), "model")
        except AotCError:
            continue  # test_every_quantized_operator requires that some cases of each operator remain
        program.add(call.name, call.arguments, call.outs)
        compared.append(call)
    text = c_program(program.bytes(), "model")
    library = Library(compile_library(text, "model", folder, compiler, ("-O1",)), text)
    for index, call in enumerate(compared):
        given = inputs_of(call.arguments, constants)
        assert_same_bits(library(f"call_{index}", *given), call.outs, call)
    return {call.name for call in compared}


def some(calls: list[Call], most: int) -> list[Call]:
    """Returns at most `most` calls of each operator, which are evenly spread over the list."""
    found = []
    for name in dict.fromkeys(call.name for call in calls):
        own = [call for call in calls if call.name == name and name in GENERATORS]
        step = max(1, len(own) // most)
        found += own[::step][: most + 1]
    return found


@pytest.mark.parametrize("module", MODULES)
def test_recorded_calls(module: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = some(calls_of(MODULES[module], 5), 8)
    names = list(compilers())
    compiler = names[list(MODULES).index(module) % len(names)]
    compared = check_calls(calls, tmp_path / "inputs", compiler, constants=False)
    if module == "quantized_operators":
        check_calls(calls, tmp_path / "constants", compiler, constants=True)
        assert (
            quantized.GENERATORS.keys() | {name for name in dynamic.GENERATORS if "linear" in name}
            <= compared
        )
    elif module == "quantized_affine":
        chosen = {name for name in dynamic.GENERATORS if "choose" in name}
        assert quantization.GENERATORS.keys() | chosen <= compared
