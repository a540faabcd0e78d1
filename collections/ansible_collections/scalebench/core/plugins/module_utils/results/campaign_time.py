"""When a campaign was planned, as numbers."""

from __future__ import annotations

import calendar
from datetime import datetime
from typing import Any, Optional

__all__ = ["unix_seconds"]

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def unix_seconds(created: Any) -> Optional[int]:
    """Return the seconds since 1970, UTC, of ``created`` in plan.json; None where it is no time.

    :param created: as ``2026-11-21T04:28:55Z``.
    """
    try:
        return calendar.timegm(datetime.strptime(created, _FORM).timetuple())
    except (TypeError, ValueError):
        return None
