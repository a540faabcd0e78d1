"""How nodes reach what they download: proxies, mirrors, archives; nothing is dialled."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from inventories import AS_JSON, played, said, written

ROOT = Path(__file__).resolve().parents[2]
WAYS_OUT = {
    "scalebench_proxy": "http://me:a$b@proxy.example:3128",
    "scalebench_mirrors": {"downloads": "https://files.example/"},
    "python_bootstrap_archive": {
        "version": "3.11.9", "sha256": "0" * 64,
        "url": "https://www.example.org/python.tar.gz",
    },
}  # fmt: skip
MIRRORS = {
    "none": {},
    "pip": {"pip": "https://pypi.example"},
    "both": {"pip": "https://pypi.example", "downloads": "x"},
}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """Return what role framework adds to pip's index on three nodes, each with its mirrors."""
    folder = tmp_path_factory.mktemp("mirrors")
    stack = {"frameworks": {"pytorch": {"url": "https://download.example/whl"}}}
    given = {"stack_definition": stack, "__framework_name": "pytorch"}
    hosts = {name: {"scalebench_mirrors": mirrors} for name, mirrors in MIRRORS.items()}
    inventory = written(folder, hosts, **given)
    return said(folder, inventory, roles=["framework"], shown=["__framework_index"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", "https://download.example/whl"),
        ("pip", ""),
        ("both", "https://download.example/whl"),
    ],
)
def test_a_mirror_of_pip_alone_has_the_packages_of_the_second_index_too(indexes, name, expected):
    assert indexes[name] == {"__framework_index": expected}


def listed(tmp_path, *arguments, **variables):
    """Return what playbooks/site_files.yml lists, without connecting to a node."""
    inventory = written(tmp_path, {"gpu01": {"ansible_host": "192.0.2.1"}}, **variables)
    site_files = ROOT / "playbooks/site_files.yml"
    done = played(["-i", inventory, *arguments], site_files, timeout=100, **AS_JSON)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, found = re.findall(r"^\S.*?(\{.*?^\})", done.stdout, re.MULTILINE | re.DOTALL)
    return json.loads(found)["msg"].splitlines()


def test_the_files_of_a_site_without_network_are_listed(tmp_path):
    found = listed(tmp_path, "-e", "benchmark=pytorch", stack_name="v100-2026")
    whole = yaml.safe_load((ROOT / "stacks/v100-2026.yml").read_text())
    own = whole["frameworks"]["pytorch"]
    for package in own["packages"]:
        assert f"pip {package} with all it requires, from {own['url']}" in found
    # Those of the stack take the place of the framework's own.
    assert len([line for line in found if line.startswith("pip torch==")]) == 1
    url = whole["nccl_tests"]["url"]
    assert f"downloads {url} as {url[len('https://') :]}" in found


def test_published_programs_need_repositories_and_images_but_not_on_cpus(tmp_path):
    arguments = ("-e", "benchmark=mxnet_ngc", "-e", "recipe=upstream")
    found = listed(tmp_path, *arguments)
    (recipe,) = [
        yaml.safe_load((ROOT / "benchmarks/mxnet_ngc.yml").read_text())["recipes"]["upstream"]
    ]
    assert f"images {recipe['container']['image']}" in found
    for source in recipe["sources"]:
        assert any(line.startswith(f"git {source['repository']} (") for line in found)


@pytest.fixture
def before_python(tmp_path):
    """Return a function that runs a script of role python_bootstrap with programs of the test."""
    programs, state = tmp_path / "bin", tmp_path / "state"
    programs.mkdir()
    for name, script in {
        "dpkg-query": f"echo 'ii  packages libc6:amd64'; cat {tmp_path}/installed 2>/dev/null",
        "apt-get": f"env > {tmp_path}/env; echo 'ii  packages python3' > {tmp_path}/installed",
        "curl": f"env > {tmp_path}/env; echo $* > {tmp_path}/curl; exit 22",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    place = tmp_path / "opt/scalebench/python"
    given = {**WAYS_OUT, "python_bootstrap_directory": str(place)}

    def script_ended(name):
        inventory = written(tmp_path, {"node1": {}}, **given)
        (told,) = said(tmp_path, inventory, roles=["python_bootstrap"], shown=[name]).values()
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        script = told[name].replace("/var/lib/scalebench", str(state))
        assert str(state) in script
        done = subprocess.run(["sh", "-c", script], env={"PATH": path}, check=False)
        env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
        return done.returncode, env, (state / "python_bootstrap").read_text().splitlines()

    return script_ended


def test_python_is_installed_through_the_proxy_and_listed_for_uninstall(before_python):
    code, env, new = before_python("__python_bootstrap_install")
    assert (code, new) == (0, ["packages python3"])
    assert env["https_proxy"] == WAYS_OUT["scalebench_proxy"]
    assert env["NEEDRESTART_MODE"] == "l"


def test_an_archive_of_python_comes_from_the_mirror_and_a_failure_leaves_nothing(
    before_python, tmp_path
):
    code, env, new = before_python("__python_bootstrap_unpack")
    assert code == 22 and env["http_proxy"] == WAYS_OUT["scalebench_proxy"]
    assert "https://files.example/www.example.org/python.tar.gz" in (tmp_path / "curl").read_text()
    # Not the folder of the half-done work, but the one that was made for it.
    assert new == [f"folders {tmp_path}/opt"]
    assert not (tmp_path / "opt/scalebench/python.new").exists()


def test_raw_tasks_of_servers_have_no_environment_of_which_ansible_would_warn(tmp_path):
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    given = [play for play in plays if "environment" in play]
    assert len(given) == 2
    tasks = [
        task
        for role in ("python_bootstrap", "cluster_ssh", "host_baseline")
        for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))
        for task in yaml.safe_load(path.read_text())
        if "ansible.builtin.raw" in task
    ]
    assert len(tasks) == 6
    raw = {"name": "raw", "ansible.builtin.raw": "true", "delegate_to": "localhost"}
    empty = [{**raw, "vars": task["vars"]} for task in tasks]
    plain = {key: given[0][key] for key in ("vars", "environment")}
    for number, some in enumerate((empty, [raw])):
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, **plain}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": some}]))
        done = played([], tmp_path / "play.yml", ANSIBLE_STDOUT_CALLBACK="default")
        assert done.returncode == 0, done.stdout
        assert ("raw module does not support the environment" in done.stderr) is (number == 1)
