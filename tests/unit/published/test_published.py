"""Published results: every document is right, complete and flagged, and a wrong one is refused."""

import copy
from collections import Counter

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import (
    check_document,
    published_rows,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_as
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import median
from published_data import FOLDER, all_rows, documents, rows

DOCUMENT = yaml.safe_load("""
schema: 1
source: {kind: reference, repository: a/b, path: README.md}
method: {statistic: median, rounding: numpy_2, text: Median of the runs.}
common: {benchmark: paddle, framework: PaddlePaddle, model: r50, precision: fp32, xla: false}
series:
  - id: b128
    batch_size_per_device: 128
    repeats: 3
    results:
      4n8g: {throughput: null, reason: printed as -, repeats: null, data_backend: dali}
      1n1g: {throughput: 10.0, runs: {1: 9.0, 2: 10.0, 3: 11.0}, precision: amp}
  - id: b64
    results:
      1n1g: {throughput: 9.5}
errata:
  - {kind: misprint, where: [b128/1n1g], what: A digit., printed: "1", correct: "2"}
  - {kind: doubt, where: [b128], what: A series.}
  - {kind: doubt, where: [document], what: All.}
""")


def test_every_document_is_right_and_no_row_is_lost():
    kinds = Counter(row["kind"] for row in all_rows())
    assert len(documents()) == 61, "correct the number here if you added a document"
    known = {"reference": 73, "extra": 930, "official": 782}
    assert kinds == known, "correct the numbers here if you added or removed rows"
    assert len({row["id"] for row in all_rows()}) == sum(known.values())
    assert Counter(row["source"] for row in all_rows() if row["kind"] == "reference") == {
        "reference_000_tensorflow_ngc": 24,
        "reference_001_tensorflow_time2train": 4,
        "reference_002_oneflow": 12,
        "reference_003_mxnet_ngc": 12,
        "reference_004_paddle": 21,
    }


def test_every_row_has_a_figure_or_a_reason_and_names_its_source():
    for row in all_rows():
        assert bool(row["throughput"] or row.get("times")) != bool(row["reason"])
        assert row["repository"] and row["path"] and row["method"] and row["statistic"]
        assert row["commit"] and (row.get("line") or row.get("times"))
    assert sum(1 for row in all_rows() if row["reason"]) == 7


def test_a_median_of_known_runs_is_the_printed_one():
    with_runs = [row for row in all_rows() if row["runs"]]
    assert len(with_runs) == 36
    for row in with_runs:
        assert round_as(median(row["runs"]), row["rounding"]) == row["throughput"]


def test_errors_of_the_reference_efforts_are_kept_and_flagged():
    row = next(r for r in rows("reference_004_paddle") if r["id"].endswith("amp_b224/4n8g"))
    assert row["speedup"] == 10.2
    assert [(e["printed"], e["correct"]) for e in row["errata"] if e["kind"] == "misprint"] == [
        ("10.2", "10.28")
    ]
    for document, series in (
        ("reference_000_tensorflow_ngc", "fp32_b128_dali"),
        ("reference_004_paddle", "fp32_b128"),
    ):
        row = next(r for r in rows(document) if r["series"] == series)
        assert row["repeats"] == 6
        assert any(
            (e.get("printed"), e.get("correct")) == ("5 runs", "6 runs") for e in row["errata"]
        )
    for row in rows("reference_003_mxnet_ngc"):
        assert (row["precision_printed"] == "AMP") == (row["precision"] == "fp16")
    several_nodes = [r for r in rows("reference_004_paddle") if r["series"] == "amp_b196_dali"][3:]
    assert [r["data_backend"] for r in several_nodes] == [None, None]


def test_programs_that_mix_precisions_have_no_row_in_fp16():
    mixed = [
        row
        for row in all_rows()
        if row["benchmark"] in ("oneflow", "tensorflow2")
        or (row["benchmark"], (row["framework_version"] or "")[:3]) == ("paddle", "1.8")
    ]
    assert {row["precision"] for row in mixed} == {"fp32", "amp"}
    for row in mixed:
        labelled = "FP16" if "mislabel" in {one["kind"] for one in row["errata"]} else None
        assert row["precision_printed"] == labelled


def test_a_row_takes_the_nearest_condition_and_its_errata():
    first, empty, other = published_rows(DOCUMENT, "x")
    assert (first["id"], empty["id"], other["id"]) == ("x/b128/1n1g", "x/b128/4n8g", "x/b64/1n1g")
    assert (first["precision"], other["precision"]) == ("amp", "fp32")
    assert (first["repeats"], empty["repeats"], other["repeats"]) == (3, None, None)
    assert (empty["data_backend"], other["data_backend"]) == ("dali", None)
    assert first["runs"] == {"1": 9.0, "2": 10.0, "3": 11.0}
    assert [e["what"] for e in first["errata"]] == ["A digit.", "A series.", "All."]
    assert [e["what"] for e in empty["errata"]] == ["A series.", "All."]
    assert [e["what"] for e in other["errata"]] == ["All."]


def test_ngc_steps_of_perf_have_the_sequences_that_its_scripts_set():
    """``expr 67584 / batch_size / num_gpus``, 67,584 being what all batch sizes divide."""
    found = [row for row in rows("perf_bert_v2_2") if "accumulation" in row["own_factors"]]
    assert len(found) == 24
    assert {
        row["batch_size_per_device"] * row["world_size"] * row["own_factors"]["accumulation"]
        for row in found
    } == {67584}


def test_own_factors_of_a_row_are_added_to_those_of_its_series():
    document = copy.deepcopy(DOCUMENT)
    document["common"]["own_factors"] = {"model_size": "base", "passes": 1}
    first = document["series"][0]
    first["own_factors"] = {"passes": 2}
    first["results"]["1n1g"]["own_factors"] = {"sharding": "ddp"}
    rows_of = [row["own_factors"] for row in published_rows(document, "x")]
    assert rows_of == [
        {"model_size": "base", "passes": 2, "sharding": "ddp"},
        {"model_size": "base", "passes": 2},
        {"model_size": "base", "passes": 1},
    ]


def change(path, value):
    """Return the document with one place of it changed; a value of ... removes it."""
    document = copy.deepcopy(DOCUMENT)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), 2, "x.schema: 2: this reads schema 1"),
        (("source",), ..., "x: source is missing"),
        (
            ("source", "kind"),
            "rumour",
            "x.source.kind: 'rumour' is not one of reference, extra, official, seed",
        ),
        (("source", "author"), "me", "unknown key 'author'; known: kind, repository"),
        (("method", "rounding"), "half_up", "'half_up' is not one of none, numpy_0"),
        (("method", "text"), ..., "x.method: text is missing"),
        (
            ("common", "precision"),
            "fp8",
            "x.common.precision: 'fp8' is not one of fp32, tf32, amp, fp16, bf16",
        ),
        (("common", "xla"), "no", "'no' is not of type bool"),
        (("common", "xla"), "x" * 5000, "'x{79} is not of type bool"),
        (
            ("common", "framework"),
            ...,
            "1n1g|4n8g: framework is missing, here, in the series and in common",
        ),
        (("series",), {"id": "b128"}, "x.series: a list is needed"),
        (("series",), False, "x.series: a list is needed"),
        (
            ("series", 0, "own_factors"),
            {"layers": [1]},
            r"own_factors.layers: \[1\] is not a single",
        ),
        (("series", 0), "b128", "series 'b128': a mapping is needed"),
        (("series", 1, "id"), "b128", "'b128' twice: give each series its own id"),
        (("series", 0, "batch_size_per_device"), 0, "batch_size_per_device: 0: at least 1"),
        (("series", 0, "batch_size_per_device"), True, "not of type int"),
        (
            ("series", 0, "results", "1n1g", "throughput"),
            -1,
            "1n1g.throughput: -1 is not a number above 0",
        ),
        (
            ("series", 0, "results", "1n1g", "throughput"),
            float("nan"),
            "nan is not a number above 0",
        ),
        (("series", 0, "results", "1n1g", "runs"), [1.0], "a mapping from repeat to units/s"),
        (("series", 0, "results", "1n1g", "runs"), {1: "fast"}, "runs.1: 'fast' is not a number"),
        (("series", 0, "repeats"), 5, "3 runs but repeats 5"),
        (("series", 0, "results", "4n8g", "reason"), ..., "no throughput and no reason for that"),
        (("series", 0, "results", "1n"), {}, "'1n' is not a topology"),
        (("errata", 0, "where"), ["b129"], r"x.errata\[0\].where: no series or result 'b129'"),
        (("errata", 0, "kind"), "typo", "'typo' is not one of misprint"),
        (("errata", 0, "printed"), 10.2, "10.2 is not of type str; quote"),
    ],
)
def test_a_wrong_document_is_refused_with_the_place(path, value, message):
    with pytest.raises(ValueError, match=message):
        published_rows(change(path, value), "x")


@pytest.mark.parametrize("document", [None, [], "text", 1])
def test_what_is_no_document(document):
    with pytest.raises(ValueError, match="x: a mapping is needed"):
        check_document(document, "x")


def test_readme_names_every_kind_of_erratum():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    kinds = {e["kind"] for row in all_rows() for e in row["errata"]}
    assert kinds == {"misprint", "mislabel", "contradiction", "doubt"}
    assert all(f"`{kind}`" in text for kind in kinds)


def test_a_document_of_version_0_1_is_read():
    document = {**DOCUMENT, "source": {**DOCUMENT["source"], "kind": "seed"}}
    assert {row["kind"] for row in published_rows(document)} == {"reference"}
