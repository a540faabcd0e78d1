"""What a report says of published results: tables, sources, errata, and why nothing is compared."""

from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.text import (
    condition_words,
    sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from published_data import all_rows, rows
from report_data import REFERENCE_004, campaign

CONDITIONS = {
    "benchmark": "paddle",
    "framework": "PaddlePaddle",
    "variant": "bz128",
    "batch_size_per_device": 128,
    "xla": False,
    "data": "real",
    "data_backend": "native",
    "image_size": 224,
}


def shown(speeds, published, stated=(), **changes) -> dict[str, Any]:
    """Return the section of a campaign with the conditions of reference effort 004 and changes."""
    plan, runs = campaign(speeds, **{**CONDITIONS, **changes})
    plan["options"] = {"conditions": dict(stated)} if stated else {}
    results = build_results(plan, runs)
    results["published"] = against_published(results, published)
    (found,) = sections(results)
    return found


def texts(table) -> list[list[str]]:
    return [[cell["text"] for cell in row] for row in table["rows"]]


def test_a_row_states_both_sides_the_ratio_and_what_was_found():
    found = shown(REFERENCE_004, rows("reference_004_paddle"), {"gpu": "V100-SXM2-16GB"})
    assert (found["ident"], found["title"]) == ("published", "Against published results")
    (table,) = found["tables"]
    assert table["caption"] == "paddle fp32 bz128: r50, batch size 128 per device"
    assert [row[0] for row in texts(table)] == list(REFERENCE_004)
    first = dict(zip((column["name"] for column in table["columns"]), texts(table)[0], strict=True))
    assert first["published"] == "reference_004_paddle/fp32_b128 (erratum)"
    assert (first["ours"], first["theirs"]) == ("352.72", "352.72")
    assert first["ratio (interval)"].startswith("1.000 (0.9")
    assert (first["beyond repeats"], first["at a margin of 2 %"]) == ("no", "equivalent")
    assert (first["speedup"], first["their speedup"]) == ("1.00", "1.00")
    said = " ".join(found["paragraphs"])
    assert "95 % interval" in said and "margin of 2 %" in said
    assert "does not contain how machines of the same kind, sites and days differ" in said
    assert "Stated with conditions=, for what the logs do not say: gpu V100-SXM2-16GB." in said


def test_the_source_names_place_version_and_errata_once():
    found = shown(REFERENCE_004, rows("reference_004_paddle"), {"gpu": "V100-SXM2-16GB"})
    (line,) = found["items"]
    assert line.startswith(
        "reference_004_paddle/fp32_b128: PaddlePaddle 1.8.3.post107, median of 6 runs"
    )
    assert "/blob/c89430b/PaddlePaddle/resnet50v1.5/README.md#L" in line
    assert line.count("Erratum (contradiction): The text says 5 runs") == 1
    assert "framework version 1.8.3.post107 (here not known)" in line
    assert "Dynamic loss scale" not in line
    noted = [{**row, "note": "Dynamic loss scale."} for row in rows("reference_004_paddle")]
    (line,) = shown(REFERENCE_004, noted, {"gpu": "V100-SXM2-16GB"})["items"]
    assert " Dynamic loss scale." in line


def test_an_erratum_of_one_topology_names_it():
    cell = {"precision": "amp", "variant": "bz224", "batch_size_per_device": 224}
    speeds = {"1n1g": [1030.0, 1036.0], "4n8g": [10600.0, 10650.0]}
    stated = {"gpu": "V100-SXM2-16GB", "loss_scaling": "dynamic"}
    found = shown(speeds, rows("reference_004_paddle"), stated, **cell)
    (line,) = (item for item in found["items"] if "amp_b224:" in item)
    assert "Erratum of 4n8g (misprint): Speed-up" in line
    assert "Printed: 10.2. Correct: 10.28." in line


def test_one_repeat_has_a_ratio_and_no_finding():
    found = shown({"1n1g": [352.0]}, rows("reference_004_paddle"), {"gpu": "V100-SXM2-16GB"})
    assert texts(found["tables"][0])[0][4:7] == ["0.998", "not known", "undecided"]
    assert (
        "1 of the comparisons has no interval: one repeat on a side shows no noise."
        in (found["paragraphs"])
    )


def test_a_cpu_campaign_gets_one_sentence_and_no_figure():
    cell = {"benchmark": "pytorch", "framework": "pytorch", "device": "cpu", "variant": "bz4"}
    cell |= {"image_size": 32, "batch_size_per_device": 4, "data": "synthetic"}
    found = shown({"1n1g": [25.0, 25.5], "2n1g": [30.0, 31.0]}, all_rows(), **cell)
    (line,) = found["paragraphs"]
    assert line.startswith(
        "Nothing published is comparable with these cells (pytorch fp32 bz4 1n1g, 2n1g): no"
        " published figure has device CPU or batch size per device 4 or image size 32."
        " The nearest, "
    )
    assert found["tables"] == found["items"] == []
    assert "%" not in line and "ratio" not in line


def test_an_unknown_condition_can_be_stated():
    found = shown(REFERENCE_004, rows("reference_004_paddle"))
    (line,) = found["paragraphs"]
    assert ": gpu of this campaign unknown." in line
    assert "If you know them, state them: -e conditions='gpu=…'." in line


def test_what_the_source_does_not_state_is_not_asked_of_the_user():
    untold = [{**row, "data_backend": None} for row in rows("reference_004_paddle")]
    found = shown(REFERENCE_004, untold, {"gpu": "V100-SXM2-16GB"})
    (line,) = found["paragraphs"][1:]
    assert ": data backend not published." in line
    assert "has no data backend (here native)." in line and "state them" not in line


def test_cells_that_are_not_comparable_stand_below_those_that_are():
    found = shown(
        {"1n1g": [352.0, 353.0], "8n8g": [15000.0, 15100.0]},
        rows("reference_004_paddle"),
        {"gpu": "V100-SXM2-16GB"},
    )
    assert [row[0] for row in texts(found["tables"][0])] == ["1n1g"]
    assert found["items"][-1].startswith(
        "Nothing published is comparable with paddle fp32 bz128 8n8g: no published figure has"
        " nodes 8."
    )


@pytest.mark.parametrize("published", [None, {"compared": [], "not_compared": []}])
def test_nothing_asked_for_or_nothing_found_gives_no_section(published):
    plan, runs = campaign({"1n1g": [1.0]})
    results = build_results(plan, runs)
    assert sections(results) == []
    assert sections({**results, "published": published}) == []


def test_conditions_in_words():
    assert condition_words("batch_size_per_device", 4) == "batch size per device 4"
    assert condition_words("xla", False) == "xla off"
    assert condition_words("gpu", "none (CPU)") == "device CPU"
