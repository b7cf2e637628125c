"""`rushlight completion`: prints a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from rushlight.cli.arguments import Commands

_BASH = """_rushlight() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  elif [[ "$word" == -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
  else
    COMPREPLY=( $(compgen -f -- "$word") )
  fi
}}
complete -o filenames -F _rushlight rushlight
"""

_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Prints a script for a shell, which then completes commands and options when you press "
        "Tab.",
        epilog='example: eval "$(rushlight completion bash)" in ~/.bashrc',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    parser.set_defaults(command=lambda options: print(script(options.shell, commands.choices), end=""))


def script(shell: str, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Returns the completion script for a shell.

    Args:
        shell: "bash", "zsh" or "fish".
        parsers: the parser of each subcommand, by name.
    """
    options = {
        name: [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]
        for name, parser in parsers.items()
    }
    if shell == "fish":
        lines = [f"complete -c rushlight -n __fish_use_subcommand -a {name}" for name in options]
        for name, flags in options.items():
            condition = f"'__fish_seen_subcommand_from {name}'"
            lines += [f"complete -c rushlight -n {condition} -l {flag[2:]}" for flag in flags]
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'      {name}) words="{" ".join(flags)}" ;;' for name, flags in options.items())
    text = _BASH.format(commands=" ".join(options), cases=cases)
    return _ZSH + text if shell == "zsh" else text
