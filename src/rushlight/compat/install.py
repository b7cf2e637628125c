"""`install_as_executorch()` and its import hook."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
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


class _AliasModule(types.ModuleType):
    """A module with the name of an ExecuTorch module, whose attributes come from Rushlight's modules.

    An attribute is looked up at its first use. Setting an attribute also sets it in the Rushlight module that
    defines it, and deleting the attribute restores the old value. A test can therefore patch an attribute
    under either name.
    """

    _names: Names
    _replaced: dict[str, object]

    def __getattr__(self, name: str) -> object:
        if name == "__all__":  # The names for `from executorch.x import *`.
            return [public for public in dir(self) if not public.startswith("_")]
        target = self._names.names.get(name)
        if name.startswith("__") and target is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if target is not None:
            value = _resolve(target)
        elif f"{self.__name__}.{name}" in MODULES:
            value = importlib.import_module(f"{self.__name__}.{name}")
        else:
            module = self._defining_module(name)
            if module is None:
                fullname = f"{self.__name__}.{name}"
                raise AttributeError(
                    _reason(fullname)
                    or f"{fullname} is a name that Rushlight does not provide "
                    f"(after install_as_executorch(), all modules of `{_ROOT}` come from Rushlight)"
                )
            value = getattr(module, name)
        self.__dict__[name] = value
        return value

    def _defining_module(self, name: str) -> types.ModuleType | None:
        """Returns the first of this module's Rushlight modules that defines the name, or None."""
        modules = (importlib.import_module(module) for module in self._names.modules)
        return next((module for module in modules if hasattr(module, name)), None)

    def _place(self, name: str) -> tuple[types.ModuleType, str] | None:
        """Returns Rushlight's module that defines the name, and its name there; None if there is none."""
        target = self._names.names.get(name)
        if target is not None:
            module_name, _, attribute = target.partition(":")
            whole = not attribute or "." in attribute
            return None if whole else (importlib.import_module(module_name), attribute)
        module = None if name.startswith("_") else self._defining_module(name)
        return None if module is None else (module, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("_names", "_replaced"):
            super().__setattr__(name, value)
            return
        if isinstance(value, _AliasModule) and name in self._names.names:
            return  # A module and a function have this name. The attribute must be the function.
        place = None if isinstance(value, _AliasModule) else self._place(name)
        if place is not None:
            self._replaced.setdefault(name, getattr(*place))
            setattr(*place, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._replaced:
            place = self._place(name)
            assert place is not None
            setattr(*place, self._replaced.pop(name))
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__()) | set(self._names.names)
        for module in map(importlib.import_module, self._names.modules):
            names.update(n for n in dir(module) if not n.startswith("_"))
            names.update(getattr(module, "__all__", ()))
        return sorted(names)


class _AliasLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = _AliasModule(spec.name)
        module._replaced = {}
        module._names = MODULES[spec.name]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Imports the modules that ExecuTorch's module imports for their side effects."""
        contents = MODULES[module.__name__]
        for statement in contents.effects:
            importlib.import_module(statement)
        for name in dir(module) if contents.early else ():
            getattr(module, name)


class _CommandLoader(Loader):
    """Loads `executorch.x.__main__`, which calls the function `main` of `executorch.x`.

    `python -m rushlight.compat -m executorch.x` runs this module.
    """

    def get_code(self, fullname: str) -> types.CodeType:
        """Returns code that calls `main`, with the arguments of the command if `main` has a parameter."""
        parent = fullname.rpartition(".")[0]
        takes = inspect.signature(importlib.import_module(parent).main).parameters
        call = f"import sys\nfrom {parent} import main\nmain({'sys.argv[1:]' if takes else ''})\n"
        return compile(call, fullname, "exec")

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)


class _Finder(MetaPathFinder):
    """Finds `executorch` and its submodules, so that no installation of ExecuTorch is imported.

    Each module is a package, so that users can add submodules: with a folder in the `__path__` of the module,
    or with other finders. Rushlight's modules have priority over these submodules.
    """

    stands_for_executorch = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(_ROOT + "."):
            return None
        if fullname in MODULES:
            spec = ModuleSpec(fullname, _AliasLoader(), origin=names.__file__, is_package=True)
            spec.has_location = True  # `__file__` is the file that lists the names.
            return spec
        parent, _, name = fullname.rpartition(".")
        if name == "__main__" and hasattr(sys.modules.get(parent), "main"):
            return ModuleSpec(fullname, _CommandLoader(), origin=names.__file__)
        for finder in sys.meta_path:
            if not isinstance(finder, _Finder):
                found = finder.find_spec(fullname, path, target)
                if found is not None:
                    return found
        # The exception has no attribute `name`, so that `from package import name` raises it unchanged.
        raise ModuleNotFoundError(_missing(fullname))


def _reason(fullname: str) -> str | None:
    """Returns why Rushlight does not have a module or a name; None if no table contains the reason."""
    for table, why in ((VENDORS, "it would need"), (LEFT_OUT, "it is")):
        for prefix, what in table.items():
            if fullname == prefix or fullname.startswith(prefix + "."):
                return f"{fullname} is not part of Rushlight: {why} {what}"
    return None


def _missing(fullname: str) -> str:
    """Returns the error message for a module or a name that does not exist."""
    reason = _reason(fullname)
    if reason is not None:
        return reason
    parent, _, name = fullname.rpartition(".")
    return (
        f"cannot import name {name!r} from {parent!r}: Rushlight does not provide it "
        f"(after install_as_executorch(), all modules of `{_ROOT}` come from Rushlight; {names.__file__} "
        "lists the names)"
    )


def is_installed() -> bool:
    """Returns whether `install_as_executorch()` was called in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install_as_executorch() -> None:
    """Makes `import executorch.<...>` import Rushlight in this process. Repeated calls have no effect.

    As in ExecuTorch, the compiler then also accepts operators without a kernel in this package's runtime. The
    kernels must exist on the device.

    All modules of `executorch` then come from Rushlight. A module or attribute that Rushlight does not have
    raises ImportError or AttributeError, even if ExecuTorch is installed. A warning reports an installed
    ExecuTorch.

    Raises:
        RuntimeError: ExecuTorch was already imported. A process cannot use both.
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
            "executorch is installed too; in this process, all its modules now come from Rushlight",
            stacklevel=2,
        )
    sys.meta_path.insert(0, _Finder())
    importlib.invalidate_caches()
