"""docs/variables.md has every variable that an inventory may set."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/variables.md").read_text()
# Set by roles for other roles and plays, not by users; and a module.
HANDED_ON = {"acceptance", "campaign_dir", "diagnosis", "facts", "failures", "gate", "outcome"}
HANDED_ON |= {"report", "seconds_left", "carrier_job", "carrier_host", "srun", "sshd", "suspects"}
HANDED_ON |= {"table"}


def test_the_tables_of_the_roles_are_those_of_their_argument_specs():
    script = ROOT / "scripts/variable_reference.py"
    written = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert written.stdout == PAGE, f"write it again: python {script.relative_to(ROOT)}"


def test_every_option_of_every_role_stands_there():
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            for name in entry.get("options", {}):
                assert f"| `{name}` |" in PAGE, f"{path.parts[-3]}: {name}"


def test_every_variable_of_the_inventory_stands_there():
    read = re.compile(r"\bscalebench_([a-z_]+)")
    folders = ("roles/*/tasks", "roles/*/defaults", "playbooks", "inventory/*/group_vars")
    found = set()
    for folder in folders:
        for path in ROOT.glob(f"{folder}/**/*.yml"):
            found |= set(read.findall(path.read_text()))
    missing = {name for name in found - HANDED_ON if f"| `scalebench_{name}` |" not in PAGE}
    assert not missing


def test_the_example_has_the_variables_of_the_page_about_sites():
    page = (ROOT / "docs/your-site.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    names = {name for block in blocks for name in re.findall(r"^(\w+):", block, re.MULTILINE)}
    names |= {*re.findall(r"`(\w+_replace_allowed)`", page)}
    example = "".join(path.read_text() for path in ROOT.glob("inventory/example/**/*.yml"))
    assert {"scalebench_mirrors", "cuda_replace_allowed"} <= names
    assert {name for name in names if f"{name}:" not in example} == set()
