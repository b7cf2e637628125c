"""Assigns a separate memory to each device."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.ir.spec import BufferDevice, DeviceType
from rushlight.memory.alias_sets import AliasSet
from rushlight.memory.problem import DeviceMemoryError, PlanError

_HOST = (DeviceType.CPU, 0)


def separate_devices(alias_sets: Sequence[AliasSet]) -> list[BufferDevice]:
    """Assigns a memory id to the alias sets of each device: first the host, then devices by type and index.

    Args:
        alias_sets: the sets to plan. Their `mem_id` is written if at least one set is not on the host.

    Returns:
        The memories that are not in host memory. If all sets are on the host, the list is empty and the sets
        keep their `mem_id`.

    Raises:
        DeviceMemoryError: a set is not on the host, and a pass has already set the `mem_id` of a set.
        PlanError: tensors that share bytes are on different devices.
    """
    device_of = {id(alias_set): _device_of(alias_set) for alias_set in alias_sets}
    devices = sorted(set(device_of.values()), key=lambda device: (device != _HOST, device))
    if devices in ([], [_HOST]):
        return []
    if any(alias_set.mem_id is not None for alias_set in alias_sets):
        raise DeviceMemoryError(
            "a pass has set mem_id in a program with tensors on other devices, for which the planner "
            "itself sets mem_id; do not set mem_id, or use enable_non_cpu_memory_planning=False"
        )
    memory_of = {device: mem_id for mem_id, device in enumerate(devices, start=1)}
    for alias_set in alias_sets:
        alias_set.mem_id = memory_of[device_of[id(alias_set)]]
    return [BufferDevice(mem_id, *device) for device, mem_id in memory_of.items() if device != _HOST]


def _device_of(alias_set: AliasSet) -> tuple[DeviceType, int]:
    devices = {(DeviceType(spec.device), spec.device_index) for spec in alias_set.offsets}
    if len(devices) != 1:
        raise PlanError(f"tensors that share the bytes of {alias_set.name} are on different devices")
    (device,) = devices
    return device
