"""Exports a language model with options from the command line and from a YAML file."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from rushlight.compat.llm_export.config import LlmConfig


def export_llama(llm_config: LlmConfig) -> Any:
    """Exports a model with the code of ExecuTorch's examples.

    Raises:
        ImportError: the folder that contains `examples` is not in the `__path__` of `executorch`.
    """
    return importlib.import_module("executorch.examples.models.llama.export_llama_lib").export_llama(
        llm_config
    )


def parse_config_arg() -> tuple[str | None, list[str]]:
    """Returns the YAML file that `--config` of the command line names, and the other arguments."""
    parser = argparse.ArgumentParser(
        "export_llm",
        epilog="Other arguments set options, such as model.use_kv_cache=true, or +model.use_kv_cache=true "
        "for an option that is not in the file. `--cfg job` prints all options and their values.",
    )
    parser.add_argument("--config", help="a YAML file with the fields of LlmConfig")
    known, others = parser.parse_known_args()
    return known.config, others


def pop_config_arg() -> str | None:
    """Removes `--config` from `sys.argv`, and returns the YAML file that it names."""
    config, sys.argv[1:] = parse_config_arg()
    return config


def add_hydra_config_args(config_file_path: str) -> None:
    """Adds Hydra's arguments for a YAML file to `sys.argv`."""
    path = Path(config_file_path).absolute()
    sys.argv += ["--config-path", str(path.parent), "--config-name", path.name]


def hydra_main() -> None:
    """Reads the arguments in `sys.argv`, such as `model.use_kv_cache=True`, and exports the model.

    Raises:
        ImportError: the package hydra-core is not installed.
        SystemExit: an option has an invalid value.
    """
    try:
        import hydra
        from hydra.core.config_store import ConfigStore
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
    except ImportError as error:
        raise ImportError("export_llm needs the package hydra-core: pip install hydra-core") from error
    ConfigStore.instance().store("llm_config", LlmConfig)

    @hydra.main(version_base=None, config_name="llm_config", config_path=None)
    def export(options: Any) -> None:
        try:
            config: Any = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(LlmConfig), options))
        except (OmegaConfBaseException, ValueError) as error:
            raise SystemExit(f"export_llm: {error}") from error
        export_llama(config)

    export()


def main() -> None:
    """Runs the command. Its arguments are the name of a YAML file (`--config`), and those of `hydra_main`."""
    config = pop_config_arg()
    if config is not None:
        add_hydra_config_args(config)
    hydra_main()
