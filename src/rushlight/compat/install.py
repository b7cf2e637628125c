"""The import hook behind `install_as_executorch()`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

from rushlight.compat import names
from rushlight.compat.names import LEFT_OUT, MODULES, VENDORS, Names

_ROOT = "executorch"


def _resolve(target: str) -> object:
    """Returns the object at `module:name`, or the module if there is no name."""
    module, _, name = target.partition(":")
    value: object = importlib.import_module(module)
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


class _Face(types.ModuleType):
    """A module with ExecuTorch's name, whose attributes are looked up in Rushlight's modules at their first
    use.

    Setting an attribute also sets it in the Rushlight module that has it, and deleting it restores the old
    value. A patch of a test therefore affects both.
    """

    _names: Names
    _replaced: dict[str, object]

    def __getattr__(self, name: str) -> object:
        if name == "__all__":  # what `from executorch.x import *` takes
            return [public for public in dir(self) if not public.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        target = self._names.names.get(name)
        if target is not None:
            value = _resolve(target)
        elif f"{self.__name__}.{name}" in MODULES:
            value = importlib.import_module(f"{self.__name__}.{name}")
        else:
            module = self._home(name)
            if module is None:
                fullname = f"{self.__name__}.{name}"
                raise AttributeError(
                    _reason(fullname)
                    or f"{fullname} is a name that Rushlight does not provide "
                    f"(install_as_executorch() stands in for the whole of `{_ROOT}`)"
                )
            value = getattr(module, name)
        self.__dict__[name] = value
        return value

    def _home(self, name: str) -> types.ModuleType | None:
        """Returns the first Rushlight module behind this module that defines the name."""
        modules = (importlib.import_module(module) for module in self._names.modules)
        return next((module for module in modules if hasattr(module, name)), None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, _Face) and name in self._names.names:
            return  # the name is both a module's and a function's, and the function is what users call
        if not (name.startswith("_") or name in self._names.names or isinstance(value, _Face)):
            home = self._home(name)
            if home is not None:
                self._replaced.setdefault(name, getattr(home, name))
                setattr(home, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._replaced:
            setattr(self._home(name), name, self._replaced.pop(name))
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__()) | set(self._names.names)
        for module in self._names.modules:
            names.update(n for n in dir(importlib.import_module(module)) if not n.startswith("_"))
        return sorted(names)


class _FaceLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        face = _Face(spec.name)
        face._replaced = {}
        face._names = MODULES[spec.name]
        return face

    def exec_module(self, module: types.ModuleType) -> None:
        """Does nothing for modules, whose names are looked up at their first use.

        Packages get the list of their submodules.
        """
        for statement in MODULES[module.__name__].effects:
            importlib.import_module(statement)


class _Finder(MetaPathFinder):
    """Finds `executorch` and its submodules, so that no other installation of ExecuTorch is used at the same
    time.

    Every module is a package, so that code of the user can lie beside it: a folder in the `__path__` of a
    module holds more submodules of it, and so does what other finders know. Rushlight's names come first.
    """

    stands_for_executorch = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(_ROOT + "."):
            return None
        if fullname in MODULES:
            spec = ModuleSpec(fullname, _FaceLoader(), origin=names.__file__, is_package=True)
            spec.has_location = True  # the module's file is the file that lists the names
            return spec
        for finder in sys.meta_path:
            if not isinstance(finder, _Finder):
                found = finder.find_spec(fullname, path, target)
                if found is not None:
                    return found
        # Without the name of the module in the exception, `from package import name` raises it as well.
        raise ModuleNotFoundError(_missing(fullname))


def _reason(fullname: str) -> str | None:
    """Says why a module or a name was left out; None if no table has it."""
    for table, why in ((VENDORS, "it would need"), (LEFT_OUT, "it is")):
        for prefix, what in table.items():
            if fullname == prefix or fullname.startswith(prefix + "."):
                return f"{fullname} is not part of Rushlight: {why} {what}"
    return None


def _missing(fullname: str) -> str:
    """Says why a module or a name does not exist."""
    reason = _reason(fullname)
    if reason is not None:
        return reason
    parent, _, name = fullname.rpartition(".")
    return (
        f"cannot import name {name!r} from {parent!r}: Rushlight does not provide it "
        f"(install_as_executorch() stands in for the whole of `{_ROOT}`; {names.__file__} lists the names)"
    )


def is_installed() -> bool:
    """Returns whether `install_as_executorch()` was called in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install_as_executorch() -> None:
    """Makes `import executorch.<...>` import Rushlight in this process. Another call does nothing.

    The compiler then also accepts operators of libraries that the runtime does not know, because ExecuTorch
    does. Their kernels must exist on the device.

    The name `executorch` belongs to Rushlight alone then: a module or attribute of ExecuTorch that Rushlight
    lacks raises ImportError or AttributeError, even if ExecuTorch is installed. A warning says so once.

    Raises:
        RuntimeError: ExecuTorch itself was already imported. The two cannot be used in one process.
    """
    if is_installed():
        return
    loaded = sys.modules.get(_ROOT)
    if loaded is not None:
        where = getattr(loaded, "__file__", None) or list(getattr(loaded, "__path__", ["?"]))[0]
        raise RuntimeError(
            f"executorch has been imported from {where}; call install_as_executorch() before that"
        )
    if importlib.util.find_spec(_ROOT) is not None:
        warnings.warn(
            "executorch is installed too; in this process the name now means Rushlight, as a whole",
            stacklevel=2,
        )
    sys.meta_path.insert(0, _Finder())
    importlib.invalidate_caches()
