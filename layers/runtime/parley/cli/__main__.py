"""`python -m parley.cli`: the command where nothing put it on the PATH."""

import sys

from parley.cli.main import main

sys.exit(main())
