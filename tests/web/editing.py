"""Writing in an editor, as a person would."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def write(page: Page, name: str, text: str) -> None:
    """Puts a text in the place of whatever is in the editor, as pasting would: nothing is indented or closed for it."""
    page.get_by_role("textbox", name=name).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)
