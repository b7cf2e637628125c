"""`rushlight config`: prints the folders of headers, libraries and the CMake package."""

from __future__ import annotations

import argparse
import json

from rushlight.cli.arguments import Commands
from rushlight.runtime.errors import NotFoundError
from rushlight.runtime.libraries import cmake_dir, include_dir, library_dir

PLACES = {"cmake_dir": cmake_dir, "include_dir": include_dir, "library_dir": library_dir}


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "config",
        help="print the folders of headers, libraries and the CMake package",
        epilog="example: rushlight config --cmake-dir",
        description="Prints the folders that a C++ project needs, as in: cmake "
        "-Drushlight_DIR=$(rushlight config --cmake-dir) ...",
    )
    only = parser.add_mutually_exclusive_group()
    for place in PLACES:
        flag = f"--{place.replace('_', '-')}"
        only.add_argument(flag, dest="place", action="store_const", const=place, help=f"print only {place}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints one folder, or all folders with their names."""
    if options.place:
        folder = str(PLACES[options.place]())
        print(json.dumps({options.place: folder}) if options.json else folder)
        return
    folders = {}
    for name, place in PLACES.items():
        try:
            folders[name] = str(place())
        except NotFoundError:  # a wheel has the sources instead of built libraries
            continue
    if options.json:
        print(json.dumps(folders))
        return
    for name, folder in folders.items():
        print(f"{name:12} {folder}")
