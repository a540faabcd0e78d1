"""What is asked of nvidia-smi: by every driver's vocabulary, and over captures of real GPUs."""

import csv
import json
import re
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import (
    GPU_QUERY,
    SETTINGS_QUERY,
    fingerprint,
)
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness, nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.preflight.gpu_checks import gpu_checks
from gpu_node import CAPTURES, GPUS, SHARED, install

TABLE = json.loads((GPUS / "fields.json").read_text())
IDENTITY = (*GPU_QUERY, *SETTINGS_QUERY)


def section(capture, title):
    """Return the command and the output of one section of a capture."""
    path = SHARED / "nvidia-smi" / capture
    if not path.exists():
        pytest.skip("../shared/data is not there: captures are kept outside the repository")
    text = path.read_text()
    head, output = text[text.index(f"# {title}") :].split("#" * 80 + "\n")[:2]
    return head, output


def test_every_field_that_is_asked_for_is_in_the_table():
    for switch, fields in nvidia_smi.FIELDS.items():
        assert set(fields) <= set(TABLE[switch]), switch


def test_every_field_that_is_written_elsewhere_is_in_the_table():
    done = subprocess.run(
        ["git", "grep", "-hoE", r"(--query-[a-z-]+)=[a-z_.,]*[a-z]", "--", ":!tests", ":!docs"],
        cwd=GPUS.parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line.partition("=")[::2] for line in done.stdout.splitlines()]
    assert found
    for switch, names in found:
        assert set(names.split(",")) <= set(TABLE[switch])


@pytest.mark.parametrize("branch", [418, 450, 470, 535, 550])
def test_the_table_agrees_with_the_names_in_the_binaries(branch):
    found = list((SHARED / "vocabulary").glob(f"nvidia-smi-{branch}.*.txt"))
    if not found:
        pytest.skip("../shared/data is not there: vocabularies are kept outside the repository")
    names = set(found[0].read_text().split())
    # These lists have only names with a dot, and one that ends another is not in them. They do not
    # tell the switch: that of remapped rows was another one before 590.
    dotted = {name: entry for name, entry in TABLE["--query-gpu"].items() if "." in name}
    since = {**dotted, **{n: e for n, e in TABLE["--query-remapped-rows"].items() if "." in n}}
    held = {name for name in since if any(other.endswith(name) for other in names)}
    assert held == {name for name, entry in since.items() if entry["since"] <= branch}


@pytest.mark.parametrize("profile", CAPTURES)
def test_the_table_agrees_with_the_help_of_newer_drivers(profile):
    _, text = section(CAPTURES[profile], "capabilities :: help-query-gpu")
    names = set(re.findall(r'(?:^| or )"([^"\n]+)"', text, re.M))
    assert set(TABLE["--query-gpu"]) <= names
    _, text = section(CAPTURES[profile], "capabilities :: help-query-compute-apps")
    names = set(re.findall(r'(?:^| or )"([^"\n]+)"', text, re.M))
    assert set(TABLE["--query-compute-apps"]) <= names
    _, text = section(CAPTURES[profile], "capabilities :: help (-h)")
    assert set(re.findall(r"--query-remapped-rows", text)) == {"--query-remapped-rows"}


@pytest.mark.parametrize("profile", CAPTURES)
def test_the_facts_of_a_profile_are_those_of_its_capture(profile):
    head, output = section(CAPTURES[profile], "idle :: query-gpu (csv")
    fields = re.search(r"--query-gpu=(\S+)", head).group(1).split(",")
    header, values = csv.reader(output.strip().splitlines(), skipinitialspace=True)
    real = dict(zip(fields, values))
    described = json.loads((GPUS / f"{profile}.json").read_text())["every_gpu"]
    if profile == "8xH100":
        # Without a capture of driver 580, which hopper-2026 has.
        del real["driver_version"], described["driver_version"]
    assert {name: real[name] for name in described} == described
    units = {name: entry["unit"] for name, entry in TABLE["--query-gpu"].items() if "unit" in entry}
    shown = dict(zip(fields, header))
    assert {name: shown[name] for name in described} == {
        name: f"{name} [{units[name]}]" if name in units else name for name in described
    }


def test_the_list_of_a_gpu_in_mig_mode_has_the_form_of_the_capture(tmp_path, monkeypatch, capfd):
    _, output = section(CAPTURES["1xH100_MIG"], "capabilities :: list (-L)")
    folder = install(tmp_path, monkeypatch, "1xH100_MIG")
    subprocess.run([folder / "nvidia-smi", "-L"], check=True)
    same = re.compile(r"(GPU|MIG)-[0-9a-f-]+")
    assert same.sub("uuid", capfd.readouterr().out) == same.sub("uuid", output.strip() + "\n")


@pytest.mark.parametrize("driver", ["418.226.00", "440.33.01", "450.248.02", "470.256.02"])
@pytest.mark.parametrize("later", ["535.261.03", "550.163.01", "580.159.04", "590.48.01"])
def test_an_unknown_field_costs_only_itself(tmp_path, monkeypatch, driver, later):
    seen = []
    for version in (driver, later):
        install(tmp_path, monkeypatch, "8xV100", driver_version=version)
        rows = nvidia_smi.ask("--query-gpu", nvidia_smi.FIELDS["--query-gpu"])
        assert len(rows) == 8
        branch = int(version.split(".")[0])
        for row in rows:
            unknown = {name for name, text in row.items() if text is None}
            table = TABLE["--query-gpu"]
            assert unknown == {name for name in row if table[name]["since"] > branch}
        seen.append([row["uuid"] for row in rows])
    assert seen[0] == seen[1]


def verdicts(tmp_path, monkeypatch, profile, **facts):
    """Return the checks that are not well on a node of this profile, by the whole path."""
    install(tmp_path, monkeypatch, profile, **facts)
    return verdicts_here(profile)


def verdicts_here(profile):
    """Return the checks that are not well with the nvidia-smi of the PATH."""
    node = {
        "fingerprint": fingerprint({}, nvidia_smi.ask("--query-gpu", IDENTITY)),
        "gpu_health": fitness.gpu_health(),
        "gpu_processes": fitness.gpu_processes(),
        "gpu_remarks": nvidia_smi.roll_call()[1],
        "cuda": {"code": 0, "devices": int(profile[0]), "error": ""},
        "xid": [],
    }
    rows = gpu_checks({"node1": {**node, "expected": {"gpus": int(profile[0])}}})
    return [(row["check"], row["verdict"]) for row in rows if row["verdict"] in ("fail", "warn")]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("8xV100", []),
        ("8xH100", []),
        ("1xH100_MIG", [("MIG", "fail")]),
        ("1xH200", []),
        # The capture was made with persistence mode off.
        ("1xL40S", [("persistence mode", "warn")]),
    ],
)
def test_every_profile_has_its_verdict(tmp_path, monkeypatch, profile, expected):
    assert verdicts(tmp_path, monkeypatch, profile) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"fabric_state": "In Progress", "fabric_status": "N/A"}, [("NVSwitch", "fail")]),
        ({"remapped_rows_pending": "Yes"}, [("GPU memory", "warn")]),
        ({"remapped_rows_failure": "Yes"}, [("GPU memory", "fail")]),
        ({"ecc_errors_uncorrected_volatile_total": "2"}, [("GPU memory", "fail")]),
    ],
)
@pytest.mark.parametrize("driver", ["550.163.01", "590.48.01"])
def test_every_fault_of_an_h100_is_found(tmp_path, monkeypatch, facts, expected, driver):
    facts = {**facts, "driver_version": driver}
    assert verdicts(tmp_path, monkeypatch, "8xH100", **facts) == expected


@pytest.fixture
def no_program(tmp_path, monkeypatch):
    """Take nvidia-smi from the PATH and the usual folders."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvidia_smi, "_FOLDERS", {str(tmp_path / "usual"): str(tmp_path / "lib64")})
    monkeypatch.setattr(nvidia_smi, "SIGNS", (str(tmp_path / "driver"),))
    monkeypatch.setattr(nvidia_smi, "pci_devices", lambda vendor, sysfs: [])
    return tmp_path


def program(folder, script):
    """Write a program that stands in for nvidia-smi."""
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "nvidia-smi").chmod(0o755)


def test_a_node_without_program_and_gpu_has_none(no_program):
    assert nvidia_smi.ask("--query-gpu", IDENTITY) == []


def test_a_gpu_that_cannot_be_asked_is_an_error(no_program, monkeypatch):
    (no_program / "driver").mkdir()
    with pytest.raises(ValueError, match=r"has a NVIDIA GPU \(.*/driver\), but nvidia-smi is nei"):
        nvidia_smi.ask("--query-gpu", IDENTITY)
    program(no_program, "echo No devices were found; exit 6")
    with pytest.raises(ValueError, match=r"has a NVIDIA GPU .*but No devices were found"):
        nvidia_smi.ask("--query-gpu", IDENTITY)


@pytest.mark.parametrize(
    ("kind", "counts"), [("030200", True), ("030000", True), ("068000", False)]
)
def test_a_gpu_on_the_bus_is_a_sign_and_a_bridge_is_none(no_program, monkeypatch, kind, counts):
    device = {"slot": "0000:3b:00.0", "device_class": kind}
    monkeypatch.setattr(nvidia_smi, "pci_devices", lambda vendor, sysfs: [device])
    assert nvidia_smi.signs_of_a_gpu() == (["PCI device 0000:3b:00.0"] if counts else [])


def test_a_driver_without_a_gpu_and_any_sign_of_one_has_none(no_program):
    program(no_program, "echo No devices were found; exit 6")
    assert nvidia_smi.ask("--query-gpu", IDENTITY) == []


def test_the_usual_folders_are_looked_into_with_their_libraries(no_program):
    program(no_program / "usual", 'echo "1, $LD_LIBRARY_PATH"')
    rows = nvidia_smi.ask("--query-compute-apps", ("pid", "process_name"))
    assert rows == [{"pid": "1", "process_name": str(no_program / "lib64")}]


def test_a_program_that_hangs_is_an_error(no_program, monkeypatch):
    monkeypatch.setattr(nvidia_smi, "PATIENCE_SECONDS", 0.1)
    program(no_program, "exec /bin/sleep 60")
    with pytest.raises(ValueError, match=r"no answer within 0\.1 s\. Install or repair"):
        nvidia_smi.ask("--query-gpu", IDENTITY)


def test_the_rows_before_an_error_are_not_its_words(no_program):
    program(no_program, "echo 0, Tesla V100; echo GPU is lost.; exit 15")
    with pytest.raises(ValueError, match=r"^nvidia-smi: exit code 15: GPU is lost\. Install"):
        nvidia_smi.ask("--query-gpu", ("index", "name"))


HANDLE = "Unable to determine the device handle for GPU 0000:3E:00.0: Unknown Error"
INFOROM = "WARNING: infoROM is corrupted at gpu 0000:3E:00.0"


def told_after(folder, words, code, switch="--query-gpu"):
    """Let the stand-in for nvidia-smi say something after the rows, and end with this code."""
    (folder / "nvidia-smi").rename(folder / "rows")
    program(
        folder,
        f'"$(dirname "$0")/rows" "$@"\ncase "$*" in *{switch}*) echo "{words}"; exit {code};; esac',
    )


@pytest.mark.parametrize(("words", "code"), [(INFOROM, 14), (INFOROM, 0), (HANDLE, 0)])
def test_words_beside_the_rows_are_no_row_and_warn(tmp_path, monkeypatch, words, code):
    told_after(install(tmp_path, monkeypatch, "8xH100"), words, code, "")
    assert len(nvidia_smi.ask("--query-gpu", IDENTITY)) == 8
    assert nvidia_smi.processes() == []
    monkeypatch.undo()
    (tmp_path / "again").mkdir()
    told_after(install(tmp_path / "again", monkeypatch, "8xH100"), words, code, "")
    assert verdicts_here("8xH100") == [("nvidia-smi", "warn")]
    assert nvidia_smi.roll_call()[1] == words


def test_a_line_of_which_one_cell_has_another_form_is_no_row():
    rows, words = nvidia_smi._rows("0, GPU-1a\n1, no uuid\nno index, GPU-2b\n", ["index", "uuid"])
    assert rows == [{"index": "0", "uuid": "GPU-1a"}]
    assert words == ["1, no uuid", "no index, GPU-2b"]


def test_words_without_a_row_are_no_gpu_and_no_cpu_node(no_program):
    program(no_program, f"echo {HANDLE}")
    assert nvidia_smi.ask("--query-gpu", IDENTITY) == []
    (no_program / "driver").mkdir()
    with pytest.raises(ValueError, match=f"but {HANDLE}"):
        nvidia_smi.ask("--query-gpu", IDENTITY)


@pytest.mark.parametrize("code", [2, 14, 255])
def test_a_failing_query_of_remapped_rows_is_no_unknown_switch(tmp_path, monkeypatch, code):
    folder = install(tmp_path, monkeypatch, "8xH100", driver_version="550.163.01")
    told_after(folder, HANDLE, code, "--query-remapped-rows")
    with pytest.raises(ValueError, match=f"exit code {code}: {HANDLE}"):
        fitness.gpu_health()


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """Return the root of a machine with eight GPUs on its bus, of which nvidia-smi lists seven."""
    folder = install(tmp_path, monkeypatch, "8xV100")
    described = json.loads((folder / "gpus.json").read_text())
    command = [GPUS / "make_sysfs", folder / "gpus.json", tmp_path / "sys"]
    subprocess.run(command, check=True)
    slots = [gpu["pci.bus_id"][4:].lower() for gpu in described["gpus"]]
    (tmp_path / "dev").mkdir()
    for minor, slot in enumerate(slots):
        place = tmp_path / "proc/driver/nvidia/gpus" / slot
        place.mkdir(parents=True)
        (place / "information").write_text(f"Model: \t\t V100\nDevice Minor: \t {minor}\n")
        (tmp_path / f"dev/nvidia{minor}").touch()
    del described["gpus"][3]
    (folder / "gpus.json").write_text(json.dumps(described))
    (tmp_path / "proc/self").mkdir()
    mounts = tmp_path / "proc/self/mounts"
    mounts.write_text("proc /proc proc rw 0 0\nudev /dev devtmpfs rw 0 0\n")
    return tmp_path, slots, mounts


def test_a_gpu_on_the_bus_that_does_not_answer_is_named(bus):
    root, slots, mounts = bus
    assert nvidia_smi.roll_call(str(root)) == ([slots[3]], "")
    # Also one that its driver did not take: it has no device file.
    (root / "dev/nvidia3").unlink()
    assert nvidia_smi.roll_call(str(root))[0] == [slots[3]]
    # In a container it is one of the GPUs that others have.
    mounts.write_text("udev /dev devtmpfs rw 0 0\ntmpfs /dev tmpfs rw 0 0\n")
    assert nvidia_smi.roll_call(str(root))[0] == []
    (root / "dev/nvidia3").touch()
    (root / "dev/nvidia4").unlink()
    assert nvidia_smi.roll_call(str(root))[0] == []
    (root / "dev/nvidia4").touch()
    assert nvidia_smi.roll_call(str(root))[0] == [slots[3]]


def test_names_of_programs_may_have_commas(no_program):
    program(no_program, "echo '4711, /opt/a, b'; echo '[N/A], [N/A]'")
    assert nvidia_smi.processes() == [("4711", "/opt/a, b")]
