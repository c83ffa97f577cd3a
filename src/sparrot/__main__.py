"""`python -m sparrot` is the command `sparrot`."""

import sys

from sparrot.cli import main

sys.exit(main())
