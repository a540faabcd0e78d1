"""Every option of the recipes beyond the reference efforts is one that its program defines.

The names are in tests/fixtures/published_options.yml; where the programs are in ../shared/upstream,
they are compared with the files.
"""

from __future__ import annotations

import re

import pytest
import yaml
from campaign_data import ROOT
from published_commands import SHARED
from test_published_parsers import arguments

LISTED = yaml.safe_load((ROOT / "tests/fixtures/published_options.yml").read_text())
# Recipes with the program of another one.
SAME = {
    "bert upstream_oneflow_0_2_0_without_clip": "bert upstream_oneflow_0_2_0",
    "bert upstream_paddle_static_loss_scale": "bert upstream_paddle",
}
# Abbreviations that argparse completes.
FULL = {"num_epoch": "num_epochs"}


def defined(text):
    """Return the names of the options that a file defines, whatever its parser is."""
    first = r"(?:add_arg|DEFINE_\w+)\(\s*[\"']([\w-]+)[\"']"
    calls = re.findall(r"add_argument\(\s*((?:[\"']-[-\w]+[\"'],?\s*)+)", text)
    names = {name for call in calls for name in re.findall(r"[\"']-{1,2}([\w-]+)[\"']", call)}
    return names | {*re.findall(first, text)}


@pytest.mark.parametrize("key", [*LISTED, *SAME])
def test_every_option_of_every_cell_is_defined(key):
    known = {*LISTED[SAME.get(key, key)]["options"]}
    for words in arguments(*key.split()).values():
        given = [word.lstrip("-").partition("=")[0] for word in words if word.startswith("-")]
        # -j8 is -j with its value.
        given = [re.sub(r"^(j)\d+$", r"\1", FULL.get(name, name)) for name in given]
        assert {*given} - known == set()
        assert len(given) == len({*given})


@pytest.mark.parametrize("key", LISTED)
def test_the_names_are_those_of_the_files(key):
    listed = LISTED[key]
    folder = f"{listed['repository'].replace('/', '+')}@{listed['commit']}"
    files = [SHARED / "upstream" / folder / name for name in listed["files"]]
    absent = [str(path) for path in files if not path.exists()]
    if absent:
        pytest.skip(f"not there: {absent[0]}")
    assert {*listed["options"]} == {name for path in files for name in defined(path.read_text())}
