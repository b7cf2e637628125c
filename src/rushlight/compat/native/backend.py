"""The ahead-of-time part of ExecuTorch's native backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from rushlight.compat.native.programs import serialize_graph
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.named_data import NamedDataStore

EXTERNAL_CONSTANTS_TAG_KEY = "external_constants_tag"
"""The option with the name of the data file for constants. Without it, the program file has them."""

PTN_SERIALIZATION_KEY = "serialize_as_ptn"
"""The option, with the value b"1", by which `preprocess` returns constants in a `NativeDelegateInfo`."""


@dataclass(frozen=True)
class NativeDelegateInfo:
    """The constants of a delegate, by data key. They are the tensors of the program, not copies."""

    constants: dict[str, torch.Tensor] = field(default_factory=dict)


def parse_options(specs: Sequence[CompileSpec]) -> tuple[str | None, bool]:
    """Returns the name of the data file, or None, and whether a package gets the constants.

    Args:
        specs: the options of a partition. Other options have no effect.

    Raises:
        ValueError: an option occurs twice, has an invalid value, or excludes another option.
    """
    file, is_package = None, False
    seen = set()
    for spec in specs:
        if spec.key not in (EXTERNAL_CONSTANTS_TAG_KEY, PTN_SERIALIZATION_KEY):
            continue
        if spec.key in seen:
            raise ValueError(f"duplicate compile spec {spec.key!r}: give it once")
        seen.add(spec.key)
        value = bytes(spec.value)
        if spec.key == EXTERNAL_CONSTANTS_TAG_KEY:
            file = value.decode()
        elif value != b"1":
            raise ValueError(f"the compile spec {spec.key!r} must have value b'1', not {value!r}")
        else:
            is_package = True
    if is_package and file is not None:
        raise ValueError(
            f"{PTN_SERIALIZATION_KEY!r} cannot be combined with {EXTERNAL_CONSTANTS_TAG_KEY!r}: a package "
            "has no data files"
        )
    return file, is_package


@final
class NativeBackend(BackendDetails):
    """Converts partitions to native programs. Constants become named data, whose keys are their names."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Converts a partition.

        Args:
            edge_program: the partition.
            compile_specs: the options; see `parse_options`.

        Returns:
            The bytes of the native program, and its constants as named data or as a `NativeDelegateInfo`.

        Raises:
            ValueError: the format cannot represent a node, or an option is invalid.
        """
        file, is_package = parse_options(compile_specs)
        data, tensors = serialize_graph(
            edge_program.graph_module,
            edge_program.graph_signature,
            edge_program.state_dict,
            edge_program.constants,
        )
        constants = {
            key: tensor.detach() for key, tensor in tensors.items() if not isinstance(tensor, FakeTensor)
        }
        if is_package:
            return PreprocessResult(data, _delegate_info_meta=NativeDelegateInfo(constants))
        store = NamedDataStore()
        for key, tensor in constants.items():
            store.add_named_data(key, tensor.contiguous(), external_tag=file)
        return PreprocessResult(data, data_store_output=store.get_named_data_store_output())
