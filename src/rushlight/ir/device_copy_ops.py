"""The operators `et_copy::_h2d_copy` and `et_copy::_d2h_copy`: copies between host and device memory.

In PyTorch, both operators are clones on the host. Only the runtime copies between memories.
"""

from __future__ import annotations

import torch

_OUT = "Tensor(a!) out) -> Tensor(a!)"


def _copy(self: torch.Tensor) -> torch.Tensor:
    return self.clone()


def _copy_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(self)


def _register() -> torch.library.Library:
    library = torch.library.Library("et_copy", "FRAGMENT")
    for name in ("_h2d_copy", "_d2h_copy"):
        if torch._C._dispatch_has_kernel(f"et_copy::{name}"):
            continue
        library.define(f"{name}(Tensor self) -> Tensor")
        library.define(f"{name}.out(Tensor self, *, {_OUT}")
        library.impl(name, _copy, "CompositeExplicitAutograd")
        library.impl(f"{name}.out", _copy_out, "CompositeExplicitAutograd")
    return library


_library = _register()
