"""`python -m rushlight`: the command, where its script is not on the path."""

import sys

from rushlight.cli.main import main

sys.exit(main())
