"""Builds the dashboard into the wheel, and for editable installs beside the server (see web/build.py)."""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "web"))
import build as dashboard  # web/build.py


class Dashboard(BuildHookInterface):
    """The hook of the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """A Node of our own, only where there is none and one is needed."""
        if dashboard.wish() == "skip" or dashboard.is_up_to_date() or dashboard.find_node() is not None:
            return []
        return [dashboard.WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build it. Where that is not possible the wheel has no dashboard, unless that was required."""
        try:
            dashboard.build()
        except dashboard.NotBuilt as trouble:
            if dashboard.wish() == "required":
                self.app.abort(f"The dashboard was not built: {trouble}")
            self.app.display_warning(f"dibs is installed without its dashboard: {trouble}")
