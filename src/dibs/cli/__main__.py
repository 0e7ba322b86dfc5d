"""`python -m dibs.cli` is `dibs`."""

from __future__ import annotations

import sys

from dibs.cli import main

if __name__ == "__main__":
    sys.exit(main())
