"""What was promised of a campaign stays with it, and is judged again from the logs."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import unpack
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive
from hostile_files import run_action
from written_campaigns import fail_repeat, write_campaign

from action_plugins.acceptance_check import ActionModule as Check
from action_plugins.scaling_report import ActionModule as Report

ROLES = Path(__file__).resolve().parents[2] / "roles"
PROMISES = """
about: two nodes
campaign: {repeats: 5, topology: "1n1g,2n1g"}
lines:
  - min_throughput: 20
    where: {topology: 1n1g}
  - min_speedup: 1.5
    where: {topology: 2n1g}
"""


@pytest.fixture
def promised(tmp_path):
    path = tmp_path / "promised.yml"
    path.write_text(PROMISES)
    return path


@pytest.fixture
def campaign(tmp_path):
    folder = write_campaign(tmp_path / "results/mine", {"1n1g": 24.0, "2n1g": 40.0})
    path = folder / "plan.json"
    options = {"precision": ["fp32"], "repeats": 5, "topology": ["1n1g", "2n1g"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "options": options}))
    return folder


def report(folder, **given):
    templates = [str(ROLES / "report/templates")]
    return run_action(Report, campaign_dir=str(folder), templates=templates, plots=False, **given)


def test_promises_are_kept_with_the_campaign_and_judged_again(campaign, promised):
    first = report(campaign, acceptance=str(promised))
    assert first["acceptance"]["verdict"] == "accepted"
    assert json.loads((campaign / "acceptance.json").read_text())["file"] == str(promised)
    promised.unlink()
    again = report(campaign)
    assert again["acceptance"] == first["acceptance"]
    assert not again["changed"]
    fail_repeat(campaign, "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.run.json")
    assert report(campaign)["acceptance"]["verdict"] == "not accepted"


def test_other_promises_are_refused_once_a_campaign_has_begun(campaign, promised):
    report(campaign, acceptance=str(promised))
    promised.write_text(PROMISES.replace("1.5", "1.2"))
    with pytest.raises(AnsibleActionFail, match=r"begun with other promises.*acceptance\.json"):
        report(campaign, acceptance=str(promised))
    (campaign / "acceptance.json").write_text("{}")
    with pytest.raises(AnsibleActionFail, match=r"acceptance\.json: it has no file"):
        report(campaign, acceptance=str(promised))


def test_damaged_promises_cost_their_verdict_and_not_the_report(campaign, promised):
    first = report(campaign, acceptance=str(promised))
    (campaign / "acceptance.json").write_text("null")

    again = report(campaign)

    assert again["acceptance"] == {}
    assert again["facts"] == first["facts"]
    results = json.loads((campaign / "results.json").read_text())
    (left_out,) = results["unmatched"]
    assert results["counts"]["unmatched"] == 1
    assert left_out["path"] == "acceptance.json"
    assert "it has no file" in left_out["reason"]
    assert left_out["reason"] in (campaign / "report.md").read_text()


def test_figures_that_the_logs_do_not_give_are_named(campaign, promised, tmp_path):
    """A signer may pack what he likes: the verdict is that of the logs."""
    promised.write_text(PROMISES.replace("1.5", "1.8"))
    assert report(campaign, acceptance=str(promised))["acceptance"]["verdict"] == "not accepted"
    path = campaign / "results.json"
    honest = path.read_text()
    results = json.loads(honest)
    results["acceptance"]["verdict"] = "accepted"
    results["acceptance"]["lines"][1]["verdict"] = "pass"
    results["cells"][1]["repeats"][0]["throughput"] = 99.0
    path.write_text(json.dumps(results))
    said = {}
    for name, text in (("forged", path.read_text()), ("honest", honest)):
        path.write_text(text)
        archive(campaign, tmp_path / f"{name}.tar.gz", False, False)
        with tarfile.open(tmp_path / f"{name}.tar.gz") as tar:
            assert "mine/acceptance.json" in tar.getnames()
        unpack(tmp_path / f"{name}.tar.gz", tmp_path / name)
        packed = str(tmp_path / f"{name}.tar.gz")
        found = report(tmp_path / name, archive=packed)["acceptance"]
        assert found["verdict"] == "not accepted"
        assert "The promises are those in the archive" in found["text"]
        said[name] = found["text"]
        assert report(tmp_path / name, archive=packed)["acceptance"]["text"] == found["text"]
    assert "not what the logs give" not in said["honest"]
    assert "r50_b4_fp32_1.log throughput: results.json has 99.0" in said["forged"]
    assert "all lines: results.json has accepted, the logs give not accepted" in said["forged"]


def test_the_owner_judges_an_archive_by_his_own_promises(campaign, promised, tmp_path):
    report(campaign, acceptance=str(promised))
    archive(campaign, tmp_path / "mine.tar.gz", False, False)
    unpack(tmp_path / "mine.tar.gz", tmp_path / "there")
    found = report(tmp_path / "there", acceptance=str(promised))["acceptance"]
    assert found["verdict"] == "accepted"
    assert "promises are those" not in found["text"]
    promised.write_text(PROMISES.replace("1.5", "1.9"))
    with pytest.raises(AnsibleActionFail, match="the archive has other promises"):
        report(tmp_path / "there", acceptance=str(promised))


def test_promises_for_an_archive_without_any_are_not_written_into_it(campaign, promised, tmp_path):
    report(campaign)
    archive(campaign, tmp_path / "mine.tar.gz", False, False)
    unpack(tmp_path / "mine.tar.gz", tmp_path / "there")
    found = report(tmp_path / "there", acceptance=str(promised))["acceptance"]
    assert found["verdict"] == "accepted"
    assert not (tmp_path / "there/acceptance.json").exists()


def test_a_line_that_is_there_twice_is_refused(promised):
    promised.write_text(
        PROMISES.replace("- min_throughput: 20", "- {min_throughput: 20}")
        .replace("    where: {topology: 1n1g}\n", "", 1)
        .replace("20}", "20, min_throughput: 5}")
    )
    with pytest.raises(AnsibleActionFail, match="line 5: 'min_throughput' is there twice"):
        run_action(Check, acceptance=str(promised))


def test_options_of_the_command_line_are_refused(promised):
    for name in ("topology", "campaign_topology", "campaign_repeats", "campaign_acceptance"):
        with pytest.raises(AnsibleActionFail, match=f"-e {name}: the acceptance states the opt"):
            run_action(Check, acceptance=str(promised), variables={name: "1n1g"})
    several = dict.fromkeys(("topology", "repeats", "precision", "mode", "data", "recipe"), "1")
    with pytest.raises(AnsibleActionFail, match="-e data: the acceptance"):
        run_action(Check, acceptance=str(promised), variables=several)
    given = {"campaign": "x", "duration": "9h"}
    found = run_action(Check, acceptance=str(promised), variables=given)
    assert found["options"] == {"repeats": 5, "topology": ["1n1g", "2n1g"]}
    assert "min_speedup: 1.5 of topology 2n1g" in found["text"]


def test_an_unknown_acceptance_names_those_that_are_there():
    folder = str(ROLES.parent / "acceptance")
    with pytest.raises(AnsibleActionFail, match="there are local, v100"):
        run_action(Check, acceptance="mine", acceptances_dir=folder)


@pytest.mark.parametrize("name", ["requeue", "interpreter", "transport", "python"])
def test_only_options_of_the_matrix_are_set_on_the_nodes(promised, name):
    promised.write_text(PROMISES.replace("{repeats: 5", f"{{{name}: 5, repeats: 5"))
    with pytest.raises(AnsibleActionFail, match=f"campaign: {name} is no option of the matrix"):
        run_action(Check, acceptance=str(promised))
