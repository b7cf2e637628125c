"""Runs the test cases of bundled programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Union

from rushlight.runtime import _native
from rushlight.runtime.errors import InvalidArgumentError, InvalidProgramError
from rushlight.runtime.program import contents

BundleSource = Union[bytes, bytearray, memoryview, BinaryIO, str, "os.PathLike[str]"]


class BundledModule:
    """A bundled program: a program with test cases for its methods.

    Tensors are torch tensors if torch is loaded in this process, else numpy arrays.

    Args:
        source: a path, the bytes of a .bpte file, or an open file.

    Raises:
        InvalidProgramError: the bytes are not a valid bundled program.
        TypeError: `source` has another type.
    """

    def __init__(self, source: BundleSource) -> None:
        try:
            self._module = _native.BundledModule(_bytes_of(source))
        except InvalidProgramError as error:
            name = os.fspath(source) if isinstance(source, os.PathLike) else source
            if isinstance(name, str):
                raise InvalidProgramError(f"{name!r}: {error}") from None
            raise

    @property
    def program(self) -> bytes:
        """The bytes of the .pte file in the bundled program."""
        return self._module.program()

    @property
    def method_names(self) -> list[str]:
        """The methods that have test cases."""
        return self._module.method_names()

    def num_test_cases(self, method_name: str) -> int:
        """Returns the number of test cases of a method.

        Args:
            method_name: the name of the method.

        Returns:
            The number of test cases.

        Raises:
            NotFoundError: the method has no test cases.
        """
        return self._module.num_test_cases(method_name)

    def inputs(self, method_name: str, testset_idx: int) -> list[Any]:
        """Returns copies of the inputs of a test case.

        Args:
            method_name: the name of the method.
            testset_idx: the index of the test case, from 0.

        Returns:
            Tensors and numbers in the order of the inputs of the method.

        Raises:
            InvalidArgumentError: there is no such test case.
            NotFoundError: the method has no test cases.
        """
        return self._module.inputs(method_name, _not_negative(testset_idx))

    def expected_outputs(self, method_name: str, testset_idx: int) -> list[Any]:
        """Returns copies of the expected outputs of a test case.

        Args:
            method_name: the name of the method.
            testset_idx: the index of the test case, from 0.

        Returns:
            Tensors and numbers in the order of the outputs of the method; empty if the test case has none.

        Raises:
            InvalidArgumentError: there is no such test case.
            NotFoundError: the method has no test cases.
        """
        return self._module.expected_outputs(method_name, _not_negative(testset_idx))

    def execute(self, method_name: str, testset_idx: int) -> list[Any]:
        """Runs a method on the inputs of a test case.

        Args:
            method_name: the name of the method.
            testset_idx: the index of the test case.

        Returns:
            The outputs of the method.

        Raises:
            InvalidArgumentError: there is no such test case, or its inputs do not fit the method.
            NotFoundError: the method has no test cases.
        """
        return self._module.execute(method_name, _not_negative(testset_idx))

    def verify_result_with_bundled_expected_output(
        self, method_name: str, testset_idx: int, rtol: float = 1e-5, atol: float = 1e-8
    ) -> Sequence[Any]:
        """Runs a method on the inputs of a test case, and compares the outputs with the expected outputs.

        Args:
            method_name: the name of the method.
            testset_idx: the index of the test case.
            rtol: the relative tolerance. A number may differ by at most `atol + rtol * abs(expected)`.
            atol: the absolute tolerance.

        Returns:
            The outputs of the method.

        Raises:
            InvalidStateError: a number differs. The message names the output and the first element.
            InvalidTypeError: a type or shape differs.
            NotFoundError: the test case has no expected outputs.
        """
        return self._module.verify(method_name, _not_negative(testset_idx), rtol, atol)


def _not_negative(testset_idx: int) -> int:
    if testset_idx < 0:
        raise InvalidArgumentError(f"there is no test case {testset_idx}: the first one is 0")
    return testset_idx


def _bytes_of(source: BundleSource) -> bytes:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).read_bytes()
    found = source if isinstance(source, (bytes, bytearray, memoryview)) else contents(source)
    if found is None:
        raise TypeError(
            f"a bundled program must be bytes, a path or an open file object, not {type(source).__name__}"
        )
    return bytes(found)
