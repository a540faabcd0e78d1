"""The sections that only some reports have."""

from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    before_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import REFERENCE_004, campaign


def test_a_campaign_that_was_compared_with_nothing_says_nothing_of_it():
    found = before_sections(build_results(*campaign(REFERENCE_004)))
    assert found == []
