"""`python -m dibs`: the same as the `dibs` command."""

from __future__ import annotations

from dibs.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
