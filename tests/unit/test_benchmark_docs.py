"""docs/adding-a-benchmark.md is true: it names all there is, and its example is a benchmark."""

import re

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.planning import benchmark_file
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.launch import LAUNCHERS
from ansible_collections.scalebench.core.plugins.module_utils.planning.placeholders import (
    PLACEHOLDERS,
)
from campaign_data import ROOT

DOCUMENT = "docs/adding-a-benchmark.md"
TEXT = (ROOT / DOCUMENT).read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
NAMED = set(re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)))


@pytest.mark.parametrize("key", sorted({*benchmark_file.REQUIRED, *benchmark_file.OPTIONAL}))
def test_every_key_of_a_recipe_is_named(key):
    assert key in NAMED, f"add `{key}` to the keys of a recipe in {DOCUMENT}"


@pytest.mark.parametrize("name", sorted(PLACEHOLDERS))
def test_every_placeholder_is_named(name):
    assert name in NAMED, f"add `{name}` to the section Words in braces of {DOCUMENT}"


@pytest.mark.parametrize("name", sorted(LAUNCHERS))
def test_every_launcher_and_option_of_one_is_named(name):
    place = f"the table of the section Launchers of {DOCUMENT}"
    rows = [row for row in TEXT.splitlines() if row.startswith(f"| `{name}` |")]
    assert len(rows) == 1, f"`{name}` has no row in {place}"
    missing = [option for option in LAUNCHERS[name].options if option not in rows[0]]
    assert not missing, f"add launcher_options to the row of {name} in {place}"


def test_the_fewest_lines_are_a_whole_log():
    (text,) = re.findall(r"```\n(iteration .*?)```", TEXT, re.DOTALL)
    reading = logs.read(text)
    assert (reading["reader"], reading["unit"]) == ("scalebench", "points/s")
    assert reading["ending"]["kind"] == "complete"
    assert [row["throughput"] for row in reading["observations"]] == [812.5]


def test_the_example_is_a_benchmark_with_and_without_its_blocks():
    definition = yaml.safe_load(EXAMPLES[0])
    check_benchmark(definition, "the documentation")
    recipe = definition["recipes"]["portable"]
    recipe["choices"].update(xla=[False, True], data_backend=["native", "dali"])
    recipe["defaults"].update(yaml.safe_load(EXAMPLES[1]))
    check_benchmark(definition, "the documentation")
