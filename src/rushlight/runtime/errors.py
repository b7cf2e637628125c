"""The exceptions of the runtime.

Each exception derives from RushlightError, and most also from a related built-in exception.
"""

from __future__ import annotations


class RushlightError(RuntimeError):
    """An error of the runtime.

    `ExecutorchProgramManager.locate(error)` returns the lines of the model's source code that belong to the
    error.

    Args:
        message: the text of the error.
        code: the error number of the runtime; None means the number of the class.

    Attributes:
        code: the error number of the runtime.
        method: the name of the method that failed, or None.
        instruction: the index of the instruction that failed, a key of
            `ExecutorchProgramManager.debug_handle_map[method]`, or None.
        delegate_operator: the operator that failed inside a backend, a key of the debug handle map of the
            delegate, or None.
    """

    code: int = 0x01
    method: str | None = None
    instruction: int | None = None
    delegate_operator: int | str | None = None

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidStateError(RushlightError):
    """The object is not ready for the call, or another call uses it."""

    code = 0x02


class NotSupportedError(RushlightError, NotImplementedError):
    """The runtime does not support the request."""

    code = 0x10


class InvalidArgumentError(RushlightError, ValueError):
    """An argument has a wrong value: for example a wrong number of inputs, a wrong shape or a wrong index."""

    code = 0x12


class InvalidTypeError(RushlightError, TypeError):
    """An argument has a wrong type or dtype."""

    code = 0x13


class OperatorMissingError(RushlightError, NotImplementedError):
    """The program needs operators for which this runtime has no kernel."""

    code = 0x14


class NotFoundError(RushlightError, KeyError):
    """There is no method, buffer or backend with this name."""

    code = 0x20


class OutOfMemoryError(RushlightError, MemoryError):
    """An allocation failed, or a tensor needs more memory than the memory plan allows."""

    code = 0x21


class AccessFailedError(RushlightError, OSError):
    """A file cannot be read."""

    code = 0x22


class FileMissingError(AccessFailedError, FileNotFoundError):
    """A file does not exist."""


class InvalidProgramError(RushlightError, ValueError):
    """The bytes are not a valid program: they are truncated, damaged, or have another format."""

    code = 0x23


class InvalidExternalDataError(RushlightError, ValueError):
    """The data file is invalid, or does not belong to the program."""

    code = 0x24


class BackendMissingWarning(RuntimeWarning):
    """A program was loaded, but one of its methods needs a backend that this runtime does not have."""


class DelegateError(RushlightError):
    """A backend rejected its partition of the program, or failed in its execution."""

    code = 0x30


class LimitError(OutOfMemoryError):
    """A call reached the limit of instructions or of memory. See `load` for the limits."""

    code = 0x25


class CancelledError(RushlightError):
    """Another thread cancelled the call."""

    code = 0x100


_BY_CODE: dict[int, type[RushlightError]] = {
    0x02: InvalidStateError,
    0x10: NotSupportedError,
    0x11: NotSupportedError,
    0x12: InvalidArgumentError,
    0x13: InvalidTypeError,
    0x14: OperatorMissingError,
    0x20: NotFoundError,
    0x21: OutOfMemoryError,
    0x22: AccessFailedError,
    0x23: InvalidProgramError,
    0x24: InvalidExternalDataError,
    0x25: LimitError,
    0x30: DelegateError,
    0x31: DelegateError,
    0x32: DelegateError,
    0x100: CancelledError,
}


def error_for(code: int, message: str) -> RushlightError:
    """Returns the exception for an error number of the native runtime.

    Args:
        code: the error number.
        message: the text of the error.
    """
    return _BY_CODE.get(code, RushlightError)(message, code)
