"""A headless Chromium of the system, in which a test looks at a page as its reader does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
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
