"""The real nvidia-smi of Debian's drivers 418 to 550: without a driver, and over a stand-in NVML.

Without a driver everything is real. Over the stand-in NVML the program, its names, words, forms and
exit codes are real, and the values are not.
"""

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness, nvidia_smi
from debian_nvidia_smi import PACKAGES, Unavailable, build_nvml, fetch, put
from local_nodes import ROOT

STAND_IN = ROOT / "molecule/shared/stand_ins/gpus"
TABLE = json.loads((STAND_IN / "fields.json").read_text())
NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


@pytest.fixture(params=PACKAGES, ids=str)
def real(request):
    """Return the branch of a driver, its program and the folder of its library."""
    folder = ROOT / ".state/nvidia_smi"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return request.param, *fetch(request.param, folder)
    except (Unavailable, OSError, subprocess.TimeoutExpired) as reason:
        pytest.skip(f"Debian's nvidia-smi {request.param} cannot be fetched: {reason}")


@pytest.fixture
def over_nvml(real, tmp_path, monkeypatch):
    """Put the real program, over the stand-in NVML, in front of the PATH; return branch and it."""
    branch, program, _ = real
    try:
        path = put(program, build_nvml(program, tmp_path / "nvml"), tmp_path / "bin")
    except Unavailable as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return branch, path


def run(program, *arguments, **environment):
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout


def test_without_a_driver_nobody_takes_the_node_for_one_without_gpus(real, tmp_path, monkeypatch):
    _, program, libraries = real
    path = put(program, libraries, tmp_path / "bin")
    code, words = run(path, "--query-gpu=index", "--format=csv")
    assert (code, words.startswith(NO_DRIVER)) == (9, True)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    for ask in (fitness.gpu_health, fitness.gpu_processes):
        with pytest.raises(ValueError, match=f"exit code 9: {NO_DRIVER}.*scalebench_gpus: false"):
            ask()


def test_without_its_library_the_program_is_an_error_too(real, tmp_path, monkeypatch):
    path = put(real[1], None, tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    with pytest.raises(
        ValueError, match=r"exit code 12: NVIDIA-SMI couldn't find libnvidia-ml\.so"
    ):
        fitness.gpu_health()


@pytest.mark.parametrize("real", [535], indirect=True)
def test_the_modules_fail_with_the_words_of_the_program(real, tmp_path):
    _, program, libraries = real
    path = put(program, libraries, tmp_path / "bin")
    command = ["ansible", "-i", "localhost,", "-c", "local", "localhost"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}", "-m"]
    environment = {**os.environ, "PATH": f"{path.parent}:{os.environ['PATH']}"}
    environment["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")
    for module, arguments, failed in (
        ("node_fingerprint_facts", f"work_dir={tmp_path}", True),
        ("node_fingerprint_facts", f"work_dir={tmp_path} gpus=false", False),
        ("preflight_facts", "", True),
    ):
        done = subprocess.run(
            [*command, module, "-a", arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert (done.returncode != 0) == failed
        assert (NO_DRIVER in done.stdout) == failed, done.stdout


def test_every_name_of_the_table_is_known_from_its_driver_on(over_nvml):
    branch, program = over_nvml
    for switch, entries in TABLE.items():
        answers = {name: run(program, f"{switch}={name}", "--format=csv") for name in entries}
        known = {name for name, (code, _) in answers.items() if code == 0}
        assert known == {name for name, entry in entries.items() if entry["since"] <= branch}
        for name in known:
            unit = f" [{entries[name]['unit']}]" if "unit" in entries[name] else ""
            assert answers[name][1].splitlines()[0] == f"{name}{unit}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--query-gpu=index,wrong,also_wrong", "--format=csv"],
        ["--query-gpu=index,row_remapper.pending", "--format=csv,noheader,nounits"],
        ["--query-gpu=remapped_rows.pending", "--format=csv"],
        ["--query-compute-apps=pid,wrong", "--format=csv"],
        ["--query-remapped-rows=wrong", "--format=csv"],
        ["--query-gpu=index"],
        ["--query-gpu=index", "--format=csv,wrong"],
        ["--query-gpu=index", "--format=noheader"],
        ["--id=9", "--query-gpu=index", "--format=csv"],
        ["--wrong"],
    ],
    ids=" ".join,
)
def test_the_stand_in_refuses_in_the_words_of_the_program(over_nvml, tmp_path, arguments):
    branch, program = over_nvml
    described = json.loads((STAND_IN / "8xV100.json").read_text())
    described["every_gpu"]["driver_version"] = f"{branch}.0"
    (tmp_path / "gpus.json").write_text(json.dumps(described))
    (tmp_path / "fields.json").write_text(json.dumps(TABLE))
    stand_in = run(STAND_IN / "nvidia-smi", *arguments, STAND_INS=str(tmp_path))
    code, words = run(program, *arguments)
    assert code != 0
    # How many empty lines follow is not compared.
    assert (stand_in[0], stand_in[1].strip()) == (code, words.strip())


def test_unknown_names_cost_only_themselves(over_nvml):
    branch, _ = over_nvml
    for switch, fields in nvidia_smi.FIELDS.items():
        rows = nvidia_smi.ask(switch, fields)
        known = {name for name in fields if TABLE[switch][name]["since"] <= branch}
        assert [{name for name in row if row[name] is not None} for row in rows] == [known][
            : len(known)
        ]


@pytest.mark.parametrize("code", [14, 15, 255])
def test_a_gpu_without_a_handle_is_no_unknown_switch_and_no_row(over_nvml, monkeypatch, code):
    branch, _ = over_nvml
    # Of NVML: NVML_ERROR_CORRUPTED_INFOROM, NVML_ERROR_GPU_IS_LOST, NVML_ERROR_UNKNOWN.
    monkeypatch.setenv("LOST", str({255: 999}.get(code, code)))
    for switch, fields in nvidia_smi.FIELDS.items():
        if branch < 450 and switch == "--query-remapped-rows":
            assert nvidia_smi.ask(switch, fields) == []
            continue
        with pytest.raises(ValueError, match=f"exit code {code}: Unable to determine the device"):
            nvidia_smi.ask(switch, fields)


@pytest.mark.parametrize(
    ("rows", "pending", "failed"),
    [("0 0", False, False), ("1 0", True, False), ("0 1", False, True)],
)
def test_remapped_rows_are_read_by_the_switch_that_the_driver_has(
    over_nvml, monkeypatch, rows, pending, failed
):
    monkeypatch.setenv("REMAPPED", rows)
    (gpu,) = fitness.gpu_health()
    told = (gpu["repair_pending"], gpu["repair_failed"])
    assert told == ((None, None) if over_nvml[0] < 450 else (pending, failed))
