"""The exit codes of the command `rushlight`."""

OK = 0
"""The command succeeded; `diff` and `compare` found no difference."""

ERROR = 1
"""The command failed, and printed an error message."""

USAGE = 2
"""The command line is wrong."""

DIFFERENT = 3
"""`diff` or `compare` found a difference."""

INTERRUPTED = 130
"""Ctrl-C ended the command."""

EPILOG = (
    f"Exit codes: {OK} success or no difference, {ERROR} an error, {USAGE} wrong usage, {DIFFERENT} a "
    f"difference (diff and compare), {INTERRUPTED} Ctrl-C."
)
