"""`python -m rushlight`: runs the command `rushlight` if its script is not on the PATH."""

import sys

from rushlight.cli.main import main

sys.exit(main())
