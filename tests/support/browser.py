"""A headless Chromium of the system, in which a test looks at a page as its reader does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield the browser; skip where scripts/browser could install none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("there is no chromium and no google-chrome: scripts/browser says why")
    # Containers give 64 MiB of shared memory; and to root, as in CI, Chromium refuses its sandbox.
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=options)
        yield started
        started.close()


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page; what the browser said of it is in ``said``."""
    contexts = []

    def opened(path: Path, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        shown = context.new_page()
        shown.said = []
        shown.on("console", lambda message: shown.said.append(message.text))
        shown.on("pageerror", lambda error: shown.said.append(str(error)))
        shown.on("request", lambda request: shown.said.append(request.url))
        shown.goto(path.as_uri())
        # The page itself is the one request.
        shown.said.remove(path.as_uri())
        return shown

    yield opened
    for context in contexts:
        context.close()


def outside(shown: Any, width: int) -> list[str]:
    """Return what stands out of a page to the right; a page that can be scrolled sideways first."""
    if shown.evaluate("document.documentElement.scrollWidth") != width:
        return ["the page itself"]
    found: list[str] = shown.evaluate(
        """width => [...document.querySelectorAll("main > section > *, header > *, nav")]
             .filter(one => one.getBoundingClientRect().right > width)
             .map(one => one.outerHTML.slice(0, 100))""",
        width,
    )
    return found


def grave_violations(shown: Any) -> list[tuple[str, str]]:
    """Return the rules of axe that a page breaks gravely, each with the first place."""
    return [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in Axe().run(shown).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
