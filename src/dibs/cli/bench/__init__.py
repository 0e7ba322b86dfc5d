"""`dibs bench`: how fast this store is on this machine, measured on tasks of its own that are gone afterwards."""

from __future__ import annotations
