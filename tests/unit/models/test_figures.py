"""FLOP/s and MFU of a repeat: computed from its throughput, and what a log prints held to them."""

import csv
import io
import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.models.figures import (
    differences,
    figures_of,
    other_model,
)
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import flops_per_token
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import (
    csv_text,
    prometheus_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import remarks
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import broken
from report_data import campaign
from test_flops import LLAMA_8B

H100 = "NVIDIA H100 80GB HBM3"
# As NVIDIA's Llama 3 8B on eight H100, in bf16 by torchtitan's peak of them.
CELL = {"nodes": 1, "devices_per_node": 8, "precision": "amp", "unit": "tokens/s"}
RATE = 8 * 14451.0
FLOPS = flops_per_token("nvidia_decoder", LLAMA_8B)


def facts(model=LLAMA_8B, rate=RATE, figures=None, device=H100, unit="tokens/s"):
    made = {"identity": {"architecture": model, "device_name": device}, "unit": unit}
    return {**made, "throughput": rate, "summary": {"figures": figures} if figures else {}}


def test_flops_and_mfu_follow_from_the_model_and_the_gpu():
    made = figures_of(CELL, facts())
    assert made["flops_per_second"] == pytest.approx(8 * 744e12, rel=1e-3)
    assert made["mfu"]["nvidia"] == pytest.approx(0.752, abs=5e-4)
    assert made["mfu"]["torchtitan"] == pytest.approx(0.846, abs=5e-4)
    assert made["peak_flops_per_second"] == 989e12
    assert "data sheet" in made["peak_source"]


def test_of_dimensions_that_no_model_has_nothing_follows():
    dimensions = {name: 10**29 for name, size in LLAMA_8B.items() if isinstance(size, int)}
    assert figures_of(CELL, facts(model={**LLAMA_8B, **dimensions})) == {}


def test_a_rate_over_the_time_of_the_steps_counts_before_the_mean_of_rates():
    made = figures_of(CELL, {**facts(), "harmonic_throughput": RATE / 2})
    assert made["flops_per_second"] == FLOPS * RATE / 2


def test_less_than_one_in_a_second_is_a_rate():
    assert figures_of(CELL, facts(rate=0.5))["flops_per_second"] == FLOPS / 2


def test_sequences_are_so_many_tokens():
    in_sequences = facts(rate=RATE / 8192, unit="sequences/s")
    made = figures_of({**CELL, "unit": "sequences/s"}, in_sequences)
    assert made["flops_per_second"] == pytest.approx(FLOPS * RATE)


def test_what_a_benchmark_states_counts_where_the_log_states_no_model():
    stated = {"flops_per_unit": {"figure": 24.6e9, "source": "counted"}}
    cell = {**CELL, "unit": "images/s", "model_data": stated}
    made = figures_of(cell, facts(model=None, rate=1000.0, unit="images/s"))
    assert made["flops_per_second"] == 24.6e12
    assert made["mfu"] == {"stated": pytest.approx(24.6 / (8 * 989))}
    on_cpu = facts(model=None, rate=1000.0, unit="images/s", device="a CPU")
    assert figures_of(cell, on_cpu) == {"flops_per_second": 24.6e12}


def test_a_formula_of_its_own_is_the_stated_one():
    stated = {"flops_per_unit": {"formula": "encoder", "source": "a paper"}}
    made = figures_of({**CELL, "model_data": stated}, facts())
    assert made["mfu"]["stated"] == made["mfu"]["torchtitan"]
    assert made["flops_per_second"] == flops_per_token("encoder", LLAMA_8B) * RATE


BERT = {
    **{"layers": 12, "hidden": 768, "feed_forward": 3072, "vocabulary": 30522, "predictions": 20},
    **{"parameters": 110106428, "embedding_parameters": 23835648, "sequence_length": 128},
    "causal": False,
}
BERT_CELL = {
    **{"nodes": 1, "devices_per_node": 1, "precision": "bf16", "unit": "sequences/s"},
    "model_data": {"flops_per_unit": {"formula": "bert_pretraining", "source": "a paper"}},
}
SEQUENCE = 69928989696.0  # what PyTorch's FlopCounterMode counts: test_workload_bert.py


def test_an_encoder_has_no_convention_of_decoders():
    log = facts(BERT, 1000.0, unit="sequences/s")
    made = figures_of(BERT_CELL, log)
    assert made["flops_per_second"] == SEQUENCE * 1000
    assert made["mfu"] == {"stated": pytest.approx(SEQUENCE * 1000 / 989e12)}
    own = {"flops_per_second": SEQUENCE * 1000, "mfu": made["mfu"], "peak_flops_per_second": 989e12}
    log = facts(BERT, 1000.0, own, unit="sequences/s")
    assert list(differences(BERT_CELL, log)) == []
    without_peak = {name: own[name] for name in ("flops_per_second", "mfu")}
    for unknown in (without_peak, {**own, "mfu": {"of another convention": 0.4}}):
        assert list(differences(BERT_CELL, facts(BERT, 1000.0, unknown, unit="sequences/s"))) == []
    log = facts(
        BERT, 1000.0, {**own, "flops_per_second": 0.97 * SEQUENCE * 1000}, unit="sequences/s"
    )
    assert "by its model and its throughput" in next(differences(BERT_CELL, log))


def test_a_log_that_counts_an_encoder_as_a_decoder_is_still_read():
    """As BERT's trainer did: FLOP/s by the first share's convention."""
    counted = 128 * flops_per_token("nvidia_decoder", BERT) * 1000
    shares = {"nvidia": counted / 989e12, "torchtitan": counted / 989e12}
    old = {
        **{"flops_per_second": counted, "peak_flops_per_second": 989e12},
        "mfu": {**shares, "stated": SEQUENCE * 1000 / 989e12},
    }
    log = facts(BERT, 1000.0, old, unit="sequences/s")
    assert list(differences(BERT_CELL, log)) == []
    assert figures_of(BERT_CELL, log)["mfu"] == old["mfu"]
    by_the_model = facts(
        BERT, 1000.0, {**old, "flops_per_second": SEQUENCE * 1000}, unit="sequences/s"
    )
    assert not any("by its model" in one for one in differences(BERT_CELL, by_the_model))


@pytest.mark.parametrize(
    "lacking", [facts(model=None), facts(rate=None), {"throughput": 1.0}, {"throughput": None}]
)
def test_where_nothing_is_known_there_are_no_figures(lacking):
    known = figures_of(CELL, lacking)
    assert "mfu" not in known
    assert "flops_per_second" not in known
    assert list(differences(CELL, lacking)) == []


def printed(**changes):
    """Return what an honest trainer on a machine with a measured peak prints, and changes."""
    own = FLOPS * RATE
    whole = flops_per_token("torchtitan_decoder", LLAMA_8B)
    shares = {"nvidia": own / 8e15, "torchtitan": whole * RATE / 8e15}
    honest = {
        "flops_per_second": own,
        "mfu": {name: round(share, 4) for name, share in shares.items()},
        "peak_flops_per_second": 1e15,
        "peak_source": "measured",
    }
    return {**honest, **changes}


def test_an_honest_log_differs_in_nothing():
    log = facts(figures=printed(), device="a CPU")
    assert list(differences(CELL, log)) == []
    assert figures_of(CELL, log) == printed()


def test_a_trainer_that_knows_no_peak_of_a_gpu_gets_it_here():
    without = {**printed(), "mfu": None, "peak_flops_per_second": None, "peak_source": None}
    made = figures_of(CELL, facts(figures=without))
    assert made["peak_flops_per_second"] == 989e12
    assert made["mfu"]["nvidia"] == pytest.approx(0.752, abs=5e-4)
    assert list(differences(CELL, facts(figures=without))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flops_per_second": FLOPS * RATE / 8}, "FLOP/s; by its model and its throughput"),
        ({"flops_per_second": FLOPS * RATE * 1.03}, "FLOP/s; by its model and its throughput"),
        ({"mfu": {"nvidia": 0.8}}, r"MFU \(nvidia\) of 0.8; by its own FLOP/s it is 0.7438"),
        ({"mfu": {"torchtitan": 0.7437}}, r"MFU \(torchtitan\) of 0.7437"),
        ({"peak_flops_per_second": 2e15}, r"MFU \(nvidia\)"),
    ],
)
def test_a_log_that_contradicts_its_model_is_invalid(changes, words):
    log = facts(figures=printed(**changes))
    found = [one for one in broken(CELL, log) if one["rule"] == "model_flops"]
    assert re.search(words, "; ".join(one["detail"] for one in found))


FIGURES = {
    "step_seconds_p50": 0.25,
    "step_seconds_p99": 0.5,
    "first_step": {"launch": 2.0, "import": 3.0, "build": 1.5, "first_step": 0.75},
    "peak_memory_bytes": 2**30,
    "flops_per_second": 4e10,
    "mfu": {"nvidia": 0.31, "torchtitan": 0.33},
    "peak_flops_per_second": 1.3e11,
    "peak_source": "a matrix product of 1024",
}


def results(*figures):
    """Return results of two repeats of 1n1g with these figures, and of 2n1g without any."""
    plan, runs = campaign({"1n1g": [10.0, 12.0], "2n1g": [20.0]}, unit="tokens/s")
    for run, known in zip(runs, figures):
        run["facts"] = {**run["facts"], "summary": {"figures": known}}
    return build_results(plan, runs)


def test_a_cell_has_the_medians_of_its_repeats():
    more = {**FIGURES, "step_seconds_p50": 0.35, "peak_memory_bytes": 2**31}
    one, two = results(FIGURES, more)["cells"]
    assert one["figures"]["step_seconds_p50"] == pytest.approx(0.3)
    assert one["figures"]["first_step"]["import"] == 3.0
    assert one["figures"]["peak_memory_bytes"] == 2**31
    assert one["figures"]["peak_source"] == FIGURES["peak_source"]
    assert two["figures"] is None
    assert one["repeats"][0]["figures"] == FIGURES


def test_every_output_shows_them():
    made = results(FIGURES, FIGURES)
    assert "MFU % (NVIDIA)" in terminal_table(made)
    text = report_markdown(page(made)).replace("\\", "")
    for title, value in (
        ("FLOP/s", " 40.0 G "),
        ("peak of a device, FLOP/s", " 130 G "),
        ("MFU % (NVIDIA)", "31.0"),
        ("MFU % (torchtitan)", "33.0"),
        ("peak by", "a matrix product of 1024"),
        ("step p99, ms", "500.00"),
        ("peak memory, MiB", "1024"),
        ("import, s", "3.00"),
    ):
        assert title in text, title
        assert value in text, title
    row = next(csv.DictReader(io.StringIO(csv_text(made))))
    assert (row["mfu_nvidia"], row["step_seconds_p50"], row["launch_seconds"]) == (
        *("0.31", "0.25", "2.0"),
    )
    metrics = prometheus_text(made)
    assert 'convention="torchtitan"} 0.33' in metrics
    assert 'quantile="0.99"} 0.5' in metrics
    assert 'part="build"} 1.5' in metrics


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((0.5, "0.500"), (7.25e3, "7.25 k"), (999.6e6, "1.00 G"), (4.04e14, "404 T")),
        *((99.96e6, "100 M"), (9.996e6, "10.0 M")),
    ],
)
def test_a_measured_figure_is_never_shown_as_zero(value, words):
    made = results({**FIGURES, "flops_per_second": value})
    assert re.search(rf"\| +{words} +\|", report_markdown(page(made)).replace("\\", ""))


PLANNED = {
    **{"model": "llama", "own_factors": {"sequence_length": 8192, "model_size": "8b"}},
    "model_data": {"parameters": {"figure": LLAMA_8B["parameters"], "source": "a paper"}},
}
STATED_MODEL = {**LLAMA_8B, "name": "llama", "size": "8b", "sequence_length": 8192}


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "bert"), ("size", "1b"), ("sequence_length", 4096), ("parameters", 9)],
)
def test_a_log_of_another_model_than_the_planned_one_is_invalid(key, value):
    assert list(other_model(PLANNED, facts(STATED_MODEL))) == []
    (found,) = other_model(PLANNED, facts({**STATED_MODEL, key: value}))
    assert f"the model's {key} is {value} in the log, planned was" in found


def stated_results(**changes):
    """Return results of a benchmark that states its model, with the factors of its own."""
    stated = {
        **{"name": "llama", "samples": "sequences"},
        "flops_per_unit": {"formula": "nvidia_decoder", "source": "a page of NVIDIA"},
        "gradient_bytes": {"figure": 25.5e6, "source": "a count"},
    }
    own = {"sequence_length": 128, "sharding": "ddp", "text": True}
    plan, runs = campaign(
        {"1n1g": [10.0]},
        **{"unit": "tokens/s", "units_per_sample": 128, "own_factors": own, "model": "llama"},
        model_data={**stated, **changes},
    )
    return build_results(plan, runs)


def test_the_report_describes_the_model():
    made = stated_results()
    text = report_markdown(page(made)).replace("\\", "")
    for words in (
        "a batch counts sequences; one of them is 128 tokens",
        "25.5 MB of gradients exchanged in each step (a count)",
        "by the formula nvidia_decoder (a page of NVIDIA)",
    ):
        assert words in text
    assert made["units"]["batch_size_per_device"] == "sequences"
    row = next(csv.DictReader(io.StringIO(csv_text(made))))
    assert row["own_factors"] == "sequence_length=128; sharding=ddp; text=true"
    assert "own_factors" not in csv_text(results())


def test_a_log_that_lacks_what_the_formula_needs_is_told():
    assert "do not state the dimensions of the model" in " ".join(remarks(stated_results()))
    figure = {"flops_per_unit": {"figure": 1e9, "source": "counted"}}
    for made in (stated_results(**figure), results(FIGURES, FIGURES)):
        assert "dimensions of the model" not in " ".join(remarks(made))


def test_no_output_has_them_where_no_run_does():
    made = results()
    assert [cell["figures"] for cell in made["cells"]] == [None, None]
    # The section Method lists all rules, that of FLOP/s too.
    summary = page(made)["groups"][0]["summary"]
    assert [table["caption"] for table in summary["tables"]] == ["Cells"]
    for text in (terminal_table(made), csv_text(made), prometheus_text(made)):
        assert not re.search("mfu|flops|peak|first_step", text, re.IGNORECASE)


def test_the_metric_of_a_throughput_is_named_by_its_unit():
    metrics = prometheus_text(results())
    assert "\nscalebench_throughput_tokens_per_second{" in metrics
    assert "_interval_tokens_per_second{" in metrics
    assert "samples_per_second" not in metrics
    made = results()
    made["cells"][0]["unit"] = 'a"} 1/s'
    made["cells"][1]["unit"] = "images/s"
    metrics = prometheus_text(made)
    assert metrics.count("\nscalebench_throughput_samples_per_second{") == 2


def test_the_head_compares_no_unit_with_another():
    made = results()
    made["cells"][0].update(benchmark="other", unit="images/s", median_speed=9999.0)
    figures = headline(made)["figures"]
    highest = {one["label"]: one["value"] for one in figures if "highest" in one["label"]}
    assert highest == {
        "highest throughput, images/s": "9,999.00",
        "highest throughput, tokens/s": "20.00",
    }
