"""Keys of package repositories: what is verified is what the package manager reads."""

import os
import subprocess
import sys
from pathlib import Path

import yaml
from test_stack_packages import gpg, said

__all__ = ["gpg"]

ROOT = Path(__file__).resolve().parents[3]
TASKS = [
    (f"{path.parts[-3]}/{path.stem}", task)
    for path in sorted((ROOT / "roles").glob("*/tasks/*.yml"))
    for task in yaml.safe_load(path.read_text()) or []
]


def flat(tasks):
    """Return every task, also those of blocks."""
    for where, task in tasks:
        yield where, task
        for key in ("block", "rescue", "always"):
            yield from flat((where, inner) for inner in task.get(key, []))


def calls(module):
    """Return (where, arguments) of every task with a module."""
    found = [(where, task[name]) for where, task in flat(TASKS) for name in task
             if name.rpartition(".")[2] == module]  # fmt: skip
    assert found, module
    return found


def test_rpm_and_dnf_take_keys_of_verified_files_only():
    provided = {
        str(variable)
        for path in (ROOT / "roles").glob("*/tasks/*RedHat.yml")
        for task in yaml.safe_load(path.read_text())
        if task.get("ansible.builtin.include_role", {}).get("name") == "signing_key"
        for variable in [task["vars"]["signing_key_path"]]
    }
    assert len(provided) == 3
    for where, arguments in calls("rpm_key"):
        assert arguments["key"] in provided, where
    for where, arguments in calls("yum_repository"):
        assert arguments["gpgkey"].removeprefix("file://") in provided, where
        assert arguments["gpgcheck"] or arguments.get("repo_gpgcheck"), where


def test_no_signature_and_no_certificate_goes_unchecked():
    forbidden = {"disable_gpg_check", "allow_unauthenticated", "force_apt_get_unauthenticated"}
    for where, task in flat(TASKS):
        for arguments in task.values():
            if isinstance(arguments, dict):
                assert not forbidden & set(arguments), where
                assert arguments.get("validate_certs", True), where
    texts = [path.read_text() for path in (ROOT / "roles").rglob("*.*") if path.is_file()]
    for word in ("trusted=yes", "allow-insecure", "--nogpgcheck", "--trusted-host", "curl -k"):
        assert not any(word in text for text in texts), word


def provide(tmp_path, served, fingerprint):
    """Run role signing_key; return what Ansible said and the path of the keyring."""
    (tmp_path / "served").write_bytes(served)
    keyring = tmp_path / "keyrings/one.asc"
    (tmp_path / "play.yml").write_text(f"""
- hosts: localhost
  gather_facts: false
  roles:
    - role: {ROOT}/roles/signing_key
      signing_key_url: file://{tmp_path}/served
      signing_key_fingerprints: [{fingerprint}]
      signing_key_setting: fingerprints
      signing_key_path: {keyring}
""")
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", "-c", "local",
         "-e", f"ansible_python_interpreter={sys.executable}", tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return " ".join(done.stdout.split()), keyring


def test_the_bytes_that_were_verified_are_installed(gpg, tmp_path):
    one, two = (gpg("--armor", "--export", name) for name in ("one", "two"))
    fingerprint = said(gpg)[0]
    answer, keyring = provide(tmp_path, one, fingerprint)
    assert "FAILED" not in answer, answer
    assert keyring.read_bytes() == one
    # get_url takes a file:// address every time; from a server, what stands there is read again.
    answer, _ = provide(tmp_path, one + two, fingerprint)
    assert "more, or less, than one armoured block" in answer
    assert not keyring.exists()


def test_another_key_is_refused_and_not_left_behind(gpg, tmp_path):
    answer, keyring = provide(tmp_path, gpg("--armor", "--export"), said(gpg)[0])
    assert "it holds the key" in answer and "and fingerprints trusts" in answer
    assert not keyring.exists()
