"""The files of role framework that say what goes together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from stack_data import NAMES, stack

FOLDER = Path(__file__).parents[2] / "roles/framework/vars/frameworks"
DOCUMENT = FOLDER.parents[3] / "docs/frameworks.md"
FILES = sorted(FOLDER.glob("*.yml"))
REQUIRED = {"python": list, "packages": list, "import": str}
OPTIONAL = {
    **{"gpu_state": str, "machines": list, "programs": dict},
    **{"wheel": dict, "unpublished": bool},
}
PIN = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ *=]+")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_set_says_all_and_pins_all(path):
    (name, found), *others = yaml.safe_load(path.read_text()).items()
    assert (name, others) == ("__framework_set", [])
    assert set(REQUIRED) <= set(found) <= {*REQUIRED, *OPTIONAL}
    for key, kind in {**REQUIRED, **OPTIONAL}.items():
        assert isinstance(found.get(key, kind()), kind), key
    wheel = found.get("wheel", {})
    pinned = [*found["packages"], *([wheel["requirement"]] if wheel else [])]
    assert [pin for pin in pinned if not PIN.fullmatch(pin)] == []
    assert all(isinstance(value, str) for value in wheel.get("environment", {}).values())
    assert all(re.fullmatch(r"3\.\d+", version) for version in found["python"])


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_changes_wheels_of_sets_that_there_are_but_not_their_version(name):
    """A report compares by version; the part after + says what a wheel was built for."""
    for framework, record in stack(name).get("frameworks", {}).items():
        found = yaml.safe_load((FOLDER / f"{framework}.yml").read_text())["__framework_set"]
        usual = dict(pin.split("==") for pin in found["packages"])
        changed = dict(pin.split("==") for pin in record.get("packages", ()))
        for package in usual.keys() & changed:
            assert changed[package].partition("+")[0] == usual[package]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_documentation_has_a_row_for_a_set(path):
    rows = [row.split(" | ") for row in DOCUMENT.read_text().splitlines() if row.startswith("| `")]
    named = [row for row in rows if f"`{path.stem}`" in row[0] and len(row) == 4]
    assert len(named) == 1, f"{path.stem} has no row in the table of sets of {DOCUMENT}"
    found = yaml.safe_load(path.read_text())["__framework_set"]
    assert named[0][3] == ("no |" if "machines" in found or "unpublished" in found else "yes |")


def test_the_role_reads_every_key_of_a_set():
    files = [FOLDER.parent / "main.yml", *FOLDER.parents[1].glob("tasks/*.yml")]
    role = "".join(path.read_text() for path in files)
    assert [key for key in (*REQUIRED, *OPTIONAL) if f"__framework_set.{key}" not in role] == []


# With wheels for Linux on x86_64 alone in PyPI's list of files.
FOR_X86_64 = {"intel-tensorflow", "mxnet-mkl", "oneflow", "paddlepaddle", "paddlepaddle-gpu"}
FOR_X86_64 |= {"opencv-python", "opencv-python-headless", "tensorflow", "tensorflow-cpu"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_set_says_that_it_has_no_packages_for_aarch64(path):
    found = yaml.safe_load(path.read_text())["__framework_set"]
    names = {pin.partition("==")[0] for pin in found["packages"]}
    wanted = ["x86_64"] if names & FOR_X86_64 and "unpublished" not in found else None
    assert found.get("machines") == wanted


def test_dali_is_for_the_cuda_of_the_stack():
    for name in NAMES:
        record = stack(name).get("frameworks", {}).get("pytorch", {})
        for package in record.get("packages", ()):
            if package.startswith("nvidia-dali"):
                major = stack(name)["cuda"]["version"].partition(".")[0]
                assert package.startswith(f"nvidia-dali-cuda{major}0==")


NOT_FOUND = (
    "ERROR: Could not find a version that satisfies the requirement oneflow==0.1.8 (from versions:"
    " none)\nERROR: No matching distribution found for oneflow==0.1.8"
)


@pytest.mark.parametrize(
    ("name", "absent"), [("oneflow_upstream", True), ("paddle_upstream", False), ("pytorch", False)]
)
def test_only_a_set_known_to_be_unpublished_excuses_its_cells(name, absent):
    """An index that answers 401 or 503 makes pip say the same of every package."""
    variables = yaml.safe_load((FOLDER.parent / "main.yml").read_text())
    words = Templar(
        loader=DataLoader(),
        variables={
            **yaml.safe_load((FOLDER / f"{name}.yml").read_text()),
            "__framework_pip": {"msg": NOT_FOUND},
        },
    ).template(trust_as_template(variables["__framework_absent"]))
    assert words == (
        [NOT_FOUND.splitlines()[0].partition("ERROR: ")[2], "oneflow==0.1.8"] if absent else []
    )


def test_what_mpirun_starts_on_the_hosts_has_mpirun_installed():
    asking = {path.stem for path in FILES if "mpirun" in _programs(path)}
    started = set()
    for path in sorted((FOLDER.parents[3] / "benchmarks").glob("*.yml")):
        for recipe in yaml.safe_load(path.read_text())["recipes"].values():
            for version in recipe.get("versions", {"": {}}).values():
                one = {**recipe, **version}
                if one["launcher"] in ("mpirun", "horovodrun") and "container" not in one:
                    started.add(one.get("framework_set", one["framework"]))
    assert started - {"none"} <= asking


def _programs(path):
    return yaml.safe_load(path.read_text())["__framework_set"].get("programs", {})
