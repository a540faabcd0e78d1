"""Times of logs as seconds, compared with the standard library's calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isnan

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.logs._stamp import moment, seconds

FIRST = datetime(1999, 12, 30, 23, 59, tzinfo=UTC)
# Every day of a century that is a leap year, of leap years, and of a century that is none.
DAYS = [FIRST + timedelta(days=day) for day in range(0, 2000)] + [
    datetime(year, month, day, 1, 2, tzinfo=UTC)
    for year in (2020, 2023, 2100, 2400)
    for month in (2, 3)
    for day in (1, 28)
]


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:07.25", "%Y/%m/%d %H:%M:07.25"])
def test_every_day_is_that_of_the_calendar(form):
    assert [moment(day.strftime(form)) for day in DAYS] == [day.timestamp() + 7.25 for day in DAYS]


def test_all_days_of_a_log_are_read_at_once_as_one_by_one():
    texts = [day.strftime("%Y-%m-%dT%H:%M:59,125") for day in DAYS]
    assert list(seconds(texts)) == [day.timestamp() + 59.125 for day in DAYS]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0826 15:13:29.5", datetime(2000, 8, 26, 15, 13, 29, 500_000, UTC)),
        ("0229 00:00:00", datetime(2000, 2, 29, tzinfo=UTC)),
        ("0301 00:00:00", datetime(2000, 3, 1, tzinfo=UTC)),
        ("1231 23:59:00", datetime(2000, 12, 31, 23, 59, tzinfo=UTC)),
        ("9999-12-31 00:00:00", datetime(9999, 12, 31, tzinfo=UTC)),
    ],
)
def test_the_first_and_last_dates_are_read(text, wanted):
    assert moment(text) == wanted.timestamp()


def test_unix_seconds_are_kept():
    assert moment("1599761677.6515865") == 1599761677.6515865


@pytest.mark.parametrize(
    "text",
    [
        "2020-00-10 12:21:09", "2020-13-10 12:21:09", "2020-12-00 12:21:09",
        "2020-12-32 12:21:09", "0000-12-10 12:21:09", "10000-12-10 12:21:09",
        "2020-12-10 12:21:", "2020-12-10 twelve:21:09", "12:21:09", "",
    ],
)  # fmt: skip
def test_what_is_no_time_is_none_and_costs_only_itself(text):
    assert moment(text) is None
    first, other, last = seconds(["2020-12-10 12:21:09", text, "2020-12-10 12:21:10"])
    assert isnan(other)
    assert last - first == 1
