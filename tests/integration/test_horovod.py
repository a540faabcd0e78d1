"""TensorFlow and Horovod: installed by provision.yml, run by bench.yml."""

import shutil

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.logs import read
from local_nodes import ROOT, events, failures, places_of_ranks

# A package with its own build backend, so that building it needs no other package.
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import os, zipfile
def build_wheel(folder, *_settings):
    info = {
        "METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.5\\n",
        "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(os.path.join(folder, "tiny-1.5-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("tiny.py", "")
        for file, text in info.items():
            wheel.writestr(f"tiny-1.5.dist-info/{file}", text)
    return "tiny-1.5-py3-none-any.whl"
"""


@pytest.fixture(scope="module")
def tensorflow(cluster):
    """Install TensorFlow and Horovod; Horovod is built unless an earlier run kept the wheel."""
    provisioned = cluster.run("provision.yml", "--tags", "framework", benchmark="tensorflow_ngc")
    assert provisioned.rc == 0, failures(provisioned)
    return ROOT / ".state/venvs/tensorflow"


def test_a_second_run_builds_and_changes_nothing(cluster, tensorflow):
    again = cluster.run("provision.yml", "--tags", "framework", benchmark="tensorflow_ngc")
    assert again.rc == 0, failures(again)
    assert sum(again.stats["changed"].values()) == 0


def test_one_node_builds_for_those_like_it(cluster, tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/pyproject.toml").write_text(PROJECT)
    (tmp_path / "tiny/backend.py").write_text(BACKEND)
    wheel = {"requirement": str(tmp_path / "tiny"), "environment": {}}
    own = {
        "framework_shared": False,
        "framework_dir": str(tmp_path) + "/venvs/{{ inventory_hostname }}",
        "framework_cache_dir": str(tmp_path / "kept"),
        "framework_names": ["pytorch"],
        "__framework_set": {
            "python": ["3.11", "3.12", "3.13"],
            "packages": ["wheel==0.45.1"],
            "import": "tiny",
            "wheel": wheel,
        },
    }
    provision = ("provision.yml", "--tags", "framework", "--limit", "node1,node2")
    done = cluster.run(*provision, **own)
    assert done.rc == 0, failures(done)
    logs = {path.relative_to(tmp_path / "venvs").parts[0] for path in tmp_path.rglob("build.log")}
    assert logs == {"node1"}
    (kept,) = (tmp_path / "kept").rglob("*.whl")
    assert kept.parent.name.startswith("pytorch-py3.1")
    assert (
        len([*(tmp_path / "venvs").glob("node*/pytorch/lib/python3*/site-packages/tiny.py")]) == 2
    )
    again = cluster.run(*provision, **own)
    assert sum(again.stats["changed"].values()) == 0, failures(again)
    # Nothing that pip would have to look for, and then something.
    assert not list(events(again, "ansible.builtin.pip"))
    (package,) = tmp_path.glob("venvs/node2/pytorch/lib/python3*/site-packages/wheel-*.dist-info")
    shutil.rmtree(package)
    repaired = cluster.run(*provision, **own)
    assert list(repaired.stats["changed"]) == ["node2"], failures(repaired)
    assert package.is_dir()


def test_horovod_trains_over_nodes_and_a_missing_python_stops_nothing(
    cluster, tensorflow, tmp_path
):
    (tmp_path / "tensorflow").symlink_to(tensorflow)
    own = {"benchmark": "tensorflow_ngc", "framework_dir": str(tmp_path)}
    cluster.provision_without_python("tensorflow_seed", **own)
    done = cluster.bench(
        **own, framework_version="2.15,1.15", topology="1n1g,2n1g", campaign="horovod"
    )
    records = cluster.records("horovod")
    endings = {log.split("/", 2)[2]: record["ending"] for log, record in records.items()}
    assert endings == {
        "bz2/1n1g/r50_b2_fp32_1.log": "ok",
        "bz2/2n1g/r50_b2_fp32_1.log": "ok",
        "bz2-v1.15/1n1g/r50_b2_fp32_1.log": "unavailable",
        "bz2-v1.15/2n1g/r50_b2_fp32_1.log": "unavailable",
    }, done.stdout.read()[-4000:]
    reasons = {record["reason"] for record in records.values() if record["ending"] != "ok"}
    assert all("needs Python 9.9 (looked at python9.9 on the PATH" in text for text in reasons)

    text = (cluster.results / "horovod/logs/tensorflow_ngc/bz2/2n1g/r50_b2_fp32_1.log").read_text()
    assert places_of_ranks(text) == [(0, "node1"), (1, "node2")]
    assert read(text)["reader"] == "tensorflow_ngc_train"
