"""Texts that try to become more than text: whatever an agent, a webhook or a user can write. Nothing of it may run,
load anything, or break a page.

`fill` puts one of them wherever a task can carry text; `assert_harmless` says that a page took no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

MARK = "__dibs_was_hit__"
"""What each of them sets on `window`, if it runs."""

HOSTILE: tuple[str, ...] = (
    f"<script>window.{MARK}=1</script>",
    f"<img src=x onerror=window.{MARK}=1>",
    f'"><svg onload=window.{MARK}=1>',
    f"'-(window.{MARK}=1)-'",
    f"</textarea></script><iframe srcdoc='<script>parent.{MARK}=1</script>'>",
    f"javascript:window.{MARK}=1",
    f'[a](javascript:window.{MARK}=1) https://example.org/" onmouseover="window.{MARK}=1',
    f"{{{{constructor.constructor('window.{MARK}=1')()}}}} ${{window.{MARK}=1}}",
    "data:text/html,<script>alert(1)</script>",
    "\u202emoc.elpmaxe//:sptth\u202c \u2066\u2069 rtl \u200f",
    "Z\u0351\u036f\u0310\u0313a\u0321\u0315\u031bl\u0348\u034f\u0325g\u0362\u0341\u0334o" * 20,
    "x" * 2_000,
    "🏴\u200d☠️ 👩\u200d👩\u200d👧\u200d👦 ﷽﷽﷽ \u0000".replace("\u0000", ""),
    "line\nbreak\ttab\n<b>bold</b> &lt;&amp;&#60;",
    "__proto__",
)


def of_length(text: str, most: int) -> str:
    """The text, cut to what its field takes."""
    return text[:most]


def payload() -> dict[str, Any]:
    """All of them, as keys and as values."""
    return {**{text[:200]: text for text in HOSTILE}, "list": list(HOSTILE), "big": 12345678901234567890123}


def assert_harmless(page: Page) -> None:
    """Nothing ran, nothing was loaded from elsewhere, and the page is not wider than its window."""
    assert page.evaluate(f"window.{MARK}") is None
    assert page.locator("iframe, object, embed, #content script, #content img:not(.cm-widgetBuffer)").count() == 0
    links = page.eval_on_selector_all("a[href]", "found => found.map(one => one.href)")
    assert all(link.startswith(("http://", "https://")) for link in links), links
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"the page is {wide} px wider than its window"
