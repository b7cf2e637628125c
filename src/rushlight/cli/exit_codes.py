"""What the exit codes of the command mean."""

OK = 0
"""The command succeeded; `diff` and `compare` found no difference."""

ERROR = 1
"""An error, which is printed."""

USAGE = 2
"""The command line is wrong."""

DIFFERENT = 3
"""`diff` found a difference, or `compare` a value that departs."""

INTERRUPTED = 130
"""Ctrl-C ended the command."""

EPILOG = f"Exit codes: {OK} no difference, {DIFFERENT} a difference, {ERROR} an error, {USAGE} wrong usage."
