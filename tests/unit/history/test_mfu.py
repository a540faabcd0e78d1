"""The utilisation in the history of cells whose runs state it."""

from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    history_csv,
    history_markdown,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from history_data import results_of


def history(*shares):
    """Return the history of a campaign a day, with these shares by convention."""
    entries = []
    for day, share in enumerate(shares):
        results = results_of(day, {"1n1g": [10.0, 10.1]})
        results["cells"][0]["figures"] = share and {"mfu": share}
        entries.append(entry(results, f"c{day}"))
    return build_history(entries, [], {})


def test_it_is_nvidias_or_the_stated_one():
    made = history({"nvidia": 0.4, "torchtitan": 0.5}, {"stated": 0.3}, None)
    (trend,) = made["trends"]
    assert [point.get("mfu") for point in trend["points"]] == [0.4, 0.3, None]
    assert "| MFU % |" in history_markdown(made, with_plots=False)
    assert "40.00" in history_markdown(made, with_plots=False)
    assert history_csv(made).splitlines()[1].count("0.4") == 1


def test_it_has_no_column_where_no_run_states_it():
    made = history(None, None)
    assert "MFU" not in history_markdown(made, with_plots=False)
    assert "mfu" not in history_csv(made)
