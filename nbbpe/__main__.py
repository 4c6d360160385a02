"""`python -m nbbpe ...`: the command `nbbpe`."""

import sys

from .cli import main

sys.exit(main())
