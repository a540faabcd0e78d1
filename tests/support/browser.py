"""Fixtures and checks for pages opened in the system's headless Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
# Milliseconds that the browser may take to start, or for a page, on a busy machine.
SLOWEST = 180_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield the browser; skip the test if make test-report could not install it."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("neither chromium nor google-chrome is installed: run make test-report as root")
    if not find_library("atomic"):
        pytest.skip("libatomic1, for playwright, is not installed: run make test-report as root")
    # Containers have 64 MiB of shared memory, and Chromium refuses its sandbox to root (as in CI).
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=options, timeout=SLOWEST)
        yield started
        started.close()


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page; its ``messages`` are console output, errors, requests."""
    contexts = []

    def open_page(path: Path, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.set_default_timeout(SLOWEST)
        page = context.new_page()
        page.messages = []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.messages.append(request.url))
        page.goto(path.as_uri())
        # Loading the page itself is the only request that is allowed.
        page.messages.remove(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def overflowing_elements(page: Any, width: int) -> list[str]:
    """Return elements that overflow the page to the right, or the page if it scrolls sideways."""
    if page.evaluate("document.documentElement.scrollWidth") != width:
        return ["the page itself"]
    elements: list[str] = page.evaluate(
        """width => [...document.querySelectorAll("main > section > *, header > *, nav")]
             .filter(element => element.getBoundingClientRect().right > width)
             .map(element => element.outerHTML.slice(0, 100))""",
        width,
    )
    return elements


def serious_violations(page: Any) -> list[tuple[str, str]]:
    """Return serious and critical violations of axe's rules, each with its first element."""
    return [
        (violation["id"], violation["nodes"][0]["html"][:200])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
