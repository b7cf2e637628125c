"""Propagates the devices of delegates to their arguments and results; inserts host and device copies."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import device_copy_ops as device_copy_ops  # registers the operators of et_copy
from rushlight.ir import meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import is_op
from rushlight.ir.errors import CompileError
from rushlight.ir.spec import DeviceType, TensorSpec
from rushlight.passes.base import GraphPass

TARGET_DEVICE_COMPILE_SPEC_KEY = "target_device"
"""The key of the compile spec for the device of a delegate. An example of its value is b"cuda:0"."""

Device: TypeAlias = tuple[DeviceType, int]

_HOST: Device = (DeviceType.CPU, 0)
_H2D = torch.ops.et_copy._h2d_copy.default
_D2H = torch.ops.et_copy._d2h_copy.default


class PropagateDevicePass(GraphPass):
    """Sets the device of the arguments and results of delegates from the compile specs of the delegate.

    Before: r = delegate(x); y = r[0]
    Expected: x1 = et_copy._h2d_copy(x); r = delegate(x1); r0 = r[0]; y = et_copy._d2h_copy(r0)

    A copy to the host followed by a copy back to the same device is removed. Delegates without a device are
    not changed.

    Args:
        skip_h2d_for_method_inputs: a method input that only a delegate uses is in device memory; the caller
            copies the data to the device.
        skip_d2h_for_method_outputs: a delegate result that is only a method output stays in device memory.
        enable_non_cpu_memory_planning: whether device memory is planned. If False, the pass inserts no copies
            and only sets the device of arguments and results.

    Raises:
        ValueError: a `skip` option is set, but device memory is not planned.
        CompileError: a delegate call has no lowered module, or an input in device memory has other
            users.
    """

    def __init__(
        self,
        skip_h2d_for_method_inputs: bool = False,
        skip_d2h_for_method_outputs: bool = False,
        enable_non_cpu_memory_planning: bool = False,
    ) -> None:
        super().__init__()
        if (skip_h2d_for_method_inputs or skip_d2h_for_method_outputs) and not enable_non_cpu_memory_planning:
            raise ValueError(
                "skip_h2d_for_method_inputs and skip_d2h_for_method_outputs omit copies between host and "
                "device, which exist only with enable_non_cpu_memory_planning=True"
            )
        self.skip_h2d_for_method_inputs = skip_h2d_for_method_inputs
        self.skip_d2h_for_method_outputs = skip_d2h_for_method_outputs
        self.enable_non_cpu_memory_planning = enable_non_cpu_memory_planning

    @override
    def rewrite(self, module: GraphModule) -> bool:
        calls = {node: device for node in module.graph.nodes if (device := _device_of(module, node))}
        for call, device in calls.items():
            self._set_argument_devices(call, device)
            _set_device(_specs(call), device)
            for item in list(call.users):
                if item.target is operator.getitem:
                    self._set_result_device(item, device)
        if calls:
            _remove_round_trips(module)
        return bool(calls)

    def _set_argument_devices(self, call: Node, device: Device) -> None:
        if not self.enable_non_cpu_memory_planning:
            for argument in call.args[1:]:
                _set_device(_specs(argument), device)
            return
        for index, argument in enumerate(call.args[1:], start=1):
            spec = meta.get_spec(argument) if isinstance(argument, Node) else None
            if not isinstance(argument, Node) or not isinstance(spec, TensorSpec):
                continue
            if self.skip_h2d_for_method_inputs and argument.op == "placeholder":
                if len(argument.users) != 1:
                    raise CompileError(
                        f"skip_h2d_for_method_inputs: the input {argument.name} has "
                        f"{len(argument.users)} users, so it cannot be in device memory of {call.name}; "
                        "it must have exactly one user"
                    )
                _set_device([spec], device)
                continue
            with call.graph.inserting_before(call):
                copied = call.graph.call_function(_H2D, (argument,))
            _set_metadata(copied, argument, spec, device)
            call.update_arg(index, copied)

    def _set_result_device(self, item: Node, device: Device) -> None:
        spec = meta.get_spec(item)
        if not isinstance(spec, TensorSpec):
            return
        _set_device([spec], device)
        if not self.enable_non_cpu_memory_planning:
            return
        if self.skip_d2h_for_method_outputs and all(user.op == "output" for user in item.users):
            return
        users = list(item.users)
        with item.graph.inserting_after(item):
            copied = item.graph.call_function(_D2H, (item,))
        _set_metadata(copied, item, spec, _HOST)
        for user in users:
            user.replace_input_with(item, copied)


def _device_of(module: GraphModule, call: Node) -> Device | None:
    """Returns the device of a delegate call; None for other nodes and for delegates without a device."""
    if not is_delegate_call(call):
        return None
    attribute = call.args[0] if call.args else None
    lowered: Any = None
    if isinstance(attribute, Node) and attribute.op == "get_attr":
        lowered = getattr(module, str(attribute.target), None)
    if not hasattr(lowered, "compile_specs"):
        raise CompileError(
            f"the first argument of {call.name} is {attribute}, not an attribute with a LoweredBackendModule"
        )
    return target_device_of(lowered)


def target_device_of(lowered_module: Any) -> Device | None:
    """Returns the device in the compile specs of a lowered module; None if they contain no device.

    Raises:
        ValueError: the device is not valid.
    """
    for spec in lowered_module.compile_specs:
        if spec.key == TARGET_DEVICE_COMPILE_SPEC_KEY:
            return parse_device(bytes(spec.value))
    return None


def parse_device(value: bytes) -> Device:
    """Parses a device in a compile spec, such as b"cuda:1" or b"CPU".

    Raises:
        ValueError: the device type is unknown, or the index is not a number.
    """
    name, _, index = value.decode().strip().lower().partition(":")
    for device_type in DeviceType:
        if device_type.name.lower() == name:
            return device_type, int(index or 0)
    known = ", ".join(device_type.name for device_type in DeviceType)
    raise ValueError(f"Unknown device type {name!r} in a compile spec. Valid types: {known}")


def _specs(node: object) -> Iterator[TensorSpec]:
    spec = meta.get_spec(node) if isinstance(node, Node) and meta.has_spec(node) else None
    for item in spec if isinstance(spec, (list, tuple)) else (spec,):
        if isinstance(item, TensorSpec):
            yield item


def _set_device(specs: Iterable[TensorSpec], device: Device) -> None:
    for spec in specs:
        spec.device, spec.device_index = device


def _set_metadata(copied: Node, source: Node, spec: TensorSpec, device: Device) -> None:
    """Sets the metadata of a copy: the metadata of its source, with another device."""
    new = copy.copy(spec)
    new.init_mem_planning_fields()
    new.const, new.storage, new.extra_tensor_info = False, None, None
    _set_device([new], device)
    meta.copy_origin(source, copied)
    if meta.has_val(source):
        meta.set_val(copied, meta.get_val(source))
    meta.set_spec(copied, new)


def _remove_round_trips(module: GraphModule) -> None:
    """Removes a copy to the host and back if one delegate reads a result of another on the same device."""
    for node in list(module.graph.nodes):
        if not is_op(node, _H2D) or not is_op(node.args[0], _D2H):
            continue
        on_host: Any = node.args[0]
        source = on_host.args[0]
        before, after = meta.get_spec(source), meta.get_spec(node)
        if (before.device, before.device_index) == (after.device, after.device_index):
            node.replace_all_uses_with(source)
            module.graph.erase_node(node)
            if not on_host.users:
                module.graph.erase_node(on_host)
