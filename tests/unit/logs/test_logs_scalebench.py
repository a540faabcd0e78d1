"""The reader of our own trainers' logs."""

from __future__ import annotations

import json
from math import inf, isnan

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.logs import _columns
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import factor_names
from log_lines import lines

HEADER = {
    "format": 1,
    "model": "resnet50_v1.5",
    "framework": "pytorch",
    "framework_version": "2.13.0+cpu",
    "world_size": 2,
    "nodes": 2,
    "devices_per_node": 1,
    "precision": "fp32",
    "autocast_dtype": None,
    "batch_size_per_device": 4,
    "global_batch_size": 8,
}


def line(step: int, throughput: float = 12.0, loss: str = "6.9") -> str:
    return (
        f"iteration {step} epoch 0 loss {loss} throughput {throughput:.2f} images/s"
        f" step_time 0.650000 s time {1763690000 + 0.65 * step:.6f}\n"
    )


def log(count: int = 120, end: bool = True) -> str:
    text = f"[scalebench] header {json.dumps(HEADER)}\n"
    text += "".join(line(step, 10.0 if step <= 20 else 12.0) for step in range(1, count + 1))
    return text + ('[scalebench] end {"iterations":120,"peak_memory_mib":812.4}\n' if end else "")


def test_reads_identity_observations_and_ending():
    reading = logs.read(log())
    assert reading["reader"] == "scalebench"
    assert reading["identity"]["batch_size_per_device"] == 4
    assert "autocast_dtype" not in reading["identity"]
    assert reading["ending"] == {"kind": "complete", "detail": ""}
    assert len(reading["observations"]) == 120
    assert reading["observations"][0] == {
        "step": 1,
        "epoch": 0,
        "rank": None,
        "timestamp": 1763690000.65,
        "throughput": 10.0,
        "loss": 6.9,
        "accuracy": None,
        "memory": None,
        "seconds": 0.65,
        "scope": "global",
    }


def test_every_factor_that_the_header_states_is_read():
    stated = {**dict.fromkeys(factor_names(), "stated"), "xla": True, "image_size": 64}
    stated["global_batch_size"] = 8
    text = f"[scalebench] header {json.dumps({**HEADER, **stated, 'format': 1})}\n" + line(1)
    assert stated.items() <= logs.read(text)["identity"].items()


@pytest.mark.parametrize("words", ["header", "end"])
@pytest.mark.parametrize(
    "value", ["NaN", "1e999", "[]", '"x"', "true", '{"x":' * 50 + "1" + "}" * 50]
)
def test_a_value_of_another_type_is_named(words, value):
    key = "world_size" if words == "header" else "seconds"
    text = f"{line(1)}[scalebench] {words} {{{json.dumps(key)}: {value}}}\n"
    with pytest.raises(ValueError, match=r"the.log: .*(header|end|figure|too deep)"):
        logs.read(text, name="the.log")


def test_the_default_rule_drops_twenty_and_averages_a_hundred():
    facts = log_facts(logs.read(log()))
    assert (facts["throughput"], facts["count"], facts["unit"]) == (12.0, 100, "images/s")
    assert facts["wall_clock_throughput"] == 12.31  # 8 * 100 / 65 s
    assert facts["memory"] == 812.4
    assert facts["loss"].pop("rise_z") == 0
    assert set(facts["loss"].values()) == {6.9}


def test_a_short_log_is_truncated_and_gives_no_throughput():
    facts = log_facts(logs.read(log(count=50, end=False)))
    assert facts["throughput"] is None
    assert facts["reason"].startswith("50 observations, 120 needed")
    assert facts["ending"]["kind"] == "truncated"


def test_an_identity_that_contradicts_the_cell_is_invalid():
    facts = log_facts(logs.read(log()), expect={"batch_size_per_device": 8, "world_size": 2})
    assert (facts["valid"], facts["throughput"]) == (False, None)
    assert facts["reason"] == "the log says batch_size_per_device 4, expected 8"


def test_a_loss_that_is_not_a_number_is_the_ending():
    text = log(count=30, end=False) + line(31, loss="nan")
    assert logs.read(text)["ending"]["kind"] == "nan_loss"
    assert logs.read(text)["observations"][30]["loss"] is None


def test_the_last_line_counts_only_if_it_is_whole():
    whole = log(count=30, end=False)
    assert len(logs.read(whole.rstrip("\n"))["observations"]) == 30
    assert len(logs.read(whole[:-3])["observations"]) == 29


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_of_any_size_give_the_same_reading(size):
    text = log()
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    whole, cut = logs.read(text), logs.read(pieces)
    assert list(whole.pop("observations")) == list(cut.pop("observations"))
    assert whole == cut


def test_a_loss_that_is_no_number_is_infinite_and_one_not_printed_unknown():
    found = list(_columns.losses(["1.5", "nan", "", "-inf"]))
    assert [found[0], found[1], found[3]] == [1.5, inf, inf] and isnan(found[2])


def test_facts_have_the_observations_only_where_they_are_asked_for():
    reading = logs.read("".join(lines("scalebench", 120)))
    assert "observations" not in log_facts(reading)
    assert len(log_facts(reading, observations=True)["observations"]) == 120


MODEL = {"name": "llama", "size": "10m", "parameters": 10, "layers": 2, "hidden": 8}
FIGURES = {"step_seconds_p50": 0.5, "mfu": {"nvidia": 0.4}, "first_step": {"import": 2.5}}


def tokens(end: str = json.dumps({"iterations": 12, "figures": FIGURES}), **header) -> str:
    """Return a log of sequences of 16 tokens, whose lines count tokens/s: 8 x 16 in 0.65 s."""
    text = f"[scalebench] header {json.dumps({**HEADER, 'model': MODEL, **header})}\n"
    rate = 8 * 16 / 0.65
    text += "".join(line(step, rate).replace("images", "tokens") for step in range(1, 13))
    return text + f"[scalebench] end {end}\n"


def test_a_model_of_dimensions_and_the_figures_of_the_trainer_are_read():
    reading = logs.read(tokens())
    assert reading["identity"]["architecture"] == MODEL
    assert reading["identity"]["model"] == "llama"
    nameless = {key: value for key, value in MODEL.items() if key != "name"}
    assert "model" not in logs.read(tokens(model=nameless))["identity"]
    facts = log_facts(reading, "mean")
    assert facts["summary"]["figures"] == FIGURES
    assert logs.read(tokens(end='{"figures":{"mfu":null}}'))["runs"]
    with pytest.raises(ValueError, match=r"figures\.mfu is 5, not a mapping"):
        logs.read(tokens(end='{"figures":{"mfu":5}}'))
    with pytest.raises(ValueError, match="layers is 'two', not a whole number"):
        logs.read(tokens(model={**MODEL, "layers": "two"}))


@pytest.mark.parametrize("stated", [True, False])
def test_the_clock_counts_units_as_the_lines_do(stated):
    """By the header, or by the plan where the header does not say how many units a sample has."""
    expect = {} if stated else {"units_per_sample": 16}
    text = tokens(**({"units_per_sample": 16} if stated else {}))
    reading = logs.read(text, known=expect)
    facts = log_facts(reading, "mean", expect=expect)
    assert (facts["unit"], facts["throughput"]) == ("tokens/s", 196.92)
    assert facts["wall_clock_throughput"] == pytest.approx(8 * 16 / 0.65, abs=0.01)
    other = log_facts(reading, "mean", expect={"units_per_sample": 17})
    assert other["throughput"] is None or not stated
