"""What the runtime raises: each error is a RushlightError, and the built-in exception of its kind."""

from __future__ import annotations


class RushlightError(RuntimeError):
    """An error of the runtime. `code` is the runtime's error number.

    Where an execution failed, `method` names the method and `instruction` is the index in it, the key of
    `ExecutorchProgramManager.debug_handle_map[method]`. `delegate_operator` is what the backend of a delegate
    says has failed, a key of its debug handle map. None where that is not known.
    `ExecutorchProgramManager.locate(error)` gives the lines of the model.
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
    """The object is not ready for the call, or in use."""

    code = 0x02


class NotSupportedError(RushlightError, NotImplementedError):
    """The runtime does not do this."""

    code = 0x10


class InvalidArgumentError(RushlightError, ValueError):
    """A value that was passed is wrong: the number of inputs, a shape, an index."""

    code = 0x12


class InvalidTypeError(RushlightError, TypeError):
    """A value that was passed has the wrong type or dtype."""

    code = 0x13


class OperatorMissingError(RushlightError, NotImplementedError):
    """The program needs operators that this build of the runtime has no kernel for."""

    code = 0x14


class NotFoundError(RushlightError, KeyError):
    """The program has nothing of that name."""

    code = 0x20


class OutOfMemoryError(RushlightError, MemoryError):
    """Memory could not be had, or more was asked for than was planned."""

    code = 0x21


class AccessFailedError(RushlightError, OSError):
    """A file could not be read."""

    code = 0x22


class FileMissingError(AccessFailedError, FileNotFoundError):
    """There is no file of that name."""


class InvalidProgramError(RushlightError, ValueError):
    """The bytes are no valid program: truncated, damaged, or of another format."""

    code = 0x23


class InvalidExternalDataError(RushlightError, ValueError):
    """The data file is not valid, or does not fit the program."""

    code = 0x24


class BackendMissingWarning(RuntimeWarning):
    """A program has been loaded of which a method cannot be, since it needs a backend that is not here."""


class DelegateError(RushlightError):
    """A backend refused its part of the program, or failed in it."""

    code = 0x30


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
    0x25: OutOfMemoryError,
    0x30: DelegateError,
    0x31: DelegateError,
    0x32: DelegateError,
}


def error_for(code: int, message: str) -> RushlightError:
    """The exception for an error number of the native runtime."""
    return _BY_CODE.get(code, RushlightError)(message, code)
