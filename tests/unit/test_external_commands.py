"""Every external command that the code runs or renders, against the program's own vocabulary."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    container_name,
    image_reference,
    start_command,
)
from external_commands import (
    ROOT,
    UNKNOWN,
    Command,
    of_code,
    of_scripts,
    of_shell,
    of_tasks,
    of_templates,
    option_words,
    options,
)
from held_commands import CAPTURE, HELD, HELP, INDIRECT, INSTALLED, LISTED, OWN, TEST
from rendered_cells import rendered_cells
from upstream_data import v100_nodes

SHARED = Path(os.environ.get("SCALEBENCH_SHARED", ROOT.parent / "shared"))
KNOWN = yaml.safe_load(Path(__file__).with_name("known_options.yml").read_text())
TORCH = ".state/venvs/pytorch/lib/python3*/site-packages/torch/distributed/run.py"


def of_cells() -> Iterator[Command]:
    """Yield the commands of every rendered cell, each with what it starts."""
    for rendered in rendered_cells():
        for command in rendered.cell["commands"].values():
            for words in _parts(list(command["argv"])):
                yield Command(rendered.where, tuple(words))
        if "container" in rendered.recipe:
            node = {**v100_nodes()["v1"], "ssh_dir": "/s", "devices": ["/dev/infiniband"]}
            name = container_name(rendered.cell["benchmark"], rendered.cell["recipe"])
            image = image_reference(rendered.recipe["container"])
            for access in ("gpus", "cdi"):
                node["gpu_access"] = access
                words = start_command(rendered.recipe["container"], node, name, image)
                place = words.index(image)
                yield Command(rendered.where, tuple(words[:place]))
                yield Command(rendered.where, tuple(words[place + 1 :]))


def _parts(words: list[str]) -> Iterator[list[str]]:
    """Yield a command and the commands in it, each up to the next."""
    if words[0] in ("docker", "podman"):
        inner = words.index("python3")
        yield words[:inner]
        yield from _parts(words[inner:])
    elif words[0] == "mpirun":
        # Its options are cut and held in planning/test_mpirun_options.py.
        yield words[:1]
        starts = [at for at, word in enumerate(words) if word.endswith(("python", "python3"))]
        for start in starts:
            yield from _parts(words[start : _end(words, start)])
    elif words[1] == "-m":
        yield from _module(words)
    elif "/launch/" in words[1]:
        yield from _launch_program(Path(words[1]).stem, words)
    else:
        yield words[:1]
        words = words[1:] if words[1].endswith("/published_on_cpu/start.py") else words
        own = "/workloads/" in words[1]
        yield ["workloads" if own else "published trainer", *words[2:]]


def _module(words: list[str]) -> Iterator[list[str]]:
    """Yield a launcher that is a module, and what it starts."""
    script = next(at for at in range(3, len(words)) if not words[at].startswith("-"))
    yield words[:2]
    of_1_8 = any(word.startswith("--cluster_node_ips") for word in words[3:script])
    yield [words[2] + " of 1.8" * of_1_8, *words[3:script]]
    yield from _parts([words[0], *words[script:]])


def _launch_program(name: str, words: list[str]) -> Iterator[list[str]]:
    """Yield a program of workloads/launch, and what it starts."""
    if name == "start_ranks":
        yield words[:1]
        for described in map(json.loads, words[2:]):
            argv = described["argv"]
            yield from [argv[:2]] if argv[1] == "-c" else _parts(argv)
    elif name == "attended":
        yield from _parts(words[3:])
    else:
        first = {"in_container": "docker", "host_ranks": "--"}[name]
        end = words.index(first) if first in words else len(words)
        yield ["workloads", *words[2:end]]
        rest = words[end:] if name == "in_container" else words[end + 1 :]
        yield from _parts(rest) if rest else ()


def _end(words: list[str], place: int) -> int:
    rest = words[place:]
    return place + rest.index(":") if ":" in rest else len(words)


@lru_cache(maxsize=1)
def commands() -> tuple[Command, ...]:
    """Return every command, those whose program the code computes as INDIRECT states them."""
    found = [*of_tasks(), *of_templates(), *of_scripts(), *of_code(), *of_cells()]
    made = [command for command in found if not command.program.startswith(UNKNOWN)]
    # A program of our own that a task runs.
    made += [
        Command(command.place, ("workloads", *command.words[2:]))
        for command in made
        if command.program == "python3" and command.words[1:2] and "/" in command.words[1]
    ]
    for place, texts in INDIRECT.items():
        made += [Command(place, tuple(_words(text))) for text in texts]
        if texts and place.startswith("roles/"):
            unknown = [command for command in found if command.place == place]
            made += [
                Command(place, (_words(texts[0])[0], *command.words[1:]))
                for command in unknown
                if command.program == UNKNOWN
            ]
    return tuple(made)


def _words(text: str) -> list[str]:
    return [text] if text in HELD else text.split()


def test_a_shell_script_is_taken_apart():
    text = """
    check() { "$1" -c 'x' 2>/dev/null; }
    if command -v curl >/dev/null; then curl -fsSL -o "$new" "$url"; else wget -q "$url"; fi
    path=$(readlink -f "$name") && check "$path" && echo "found=$path" | tr a b  # rm -rf /
    """
    assert [words[0] for words in of_shell(text)] == ["curl", "wget", "readlink", "tr"]


def test_every_kind_of_command_is_found():
    programs = {command.program for command in commands()}
    for found in ("df", "ssh", "tar", "sshd", "mpirun", "docker", "torch.distributed.run"):
        assert found in programs
    assert len(commands()) > 500


def test_every_program_is_in_the_table_and_every_entry_is_used():
    used: dict[str, str] = {}
    for command in commands():
        used.setdefault(command.program if command.program in HELD else command.words[0], "")
        used[command.program if command.program in HELD else command.words[0]] = command.place
    missing = {name: place for name, place in used.items() if name not in HELD}
    assert missing == {}, "add these to tests/unit/held_commands.py"
    unused = set(HELD) - set(used) - {"horovodrun"}
    assert unused == set(), "nothing uses these entries of tests/unit/held_commands.py"


def test_every_computed_program_is_stated():
    places = {
        command.place
        for command in [*of_tasks(), *of_templates(), *of_scripts(), *of_code()]
        if command.program.startswith(UNKNOWN)
    }
    assert places - set(INDIRECT) == set()
    # What is stated of a file that computes no program is looked up in it below.
    assert [place for place, texts in INDIRECT.items() if not texts and place not in places] == []


@pytest.mark.parametrize("place", [place for place in INDIRECT if place.endswith(".py")])
def test_what_is_stated_of_a_file_is_in_it(place):
    text = (ROOT / place).read_text()
    for stated in INDIRECT[place]:
        # An engine, an interpreter or a shell is the file's to choose.
        program, *words = stated.split()
        for word in words:
            assert word in text, f"{place}: {program}: {word}"
    if INDIRECT[place]:
        listed = {word for stated in INDIRECT[place] for word in stated.split()}
        assert {word for word in option_words(place) if word not in listed} == set()


def used_options(name: str) -> dict[str, list[Command]]:
    """Return the options that are used of a program, with the commands that use them."""
    used: dict[str, list[Command]] = {}
    for command in commands():
        if name in (command.program, command.words[0]):
            ours = command.program == "python3" and command.words[1:2] and "/" in command.words[1]
            for option in () if ours else options(command.words[1:]):
                used.setdefault(option, []).append(command)
    return used


def unknown_options(used: dict[str, list[Command]], text: str) -> dict[str, str]:
    """Return the options that a help text does not have, with a place that uses each.

    Letters may be together in one word, in a command (``-fsSL``) as in a help (``[-46DdeG]``).
    """
    letters = set("".join(re.findall(r"\[-(\w+)\]", text)))
    known = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*(?::\w+)?", text.replace("[=", "=")))
    known |= {f"-{letter}" for letter in letters}

    def knows(option: str) -> bool:
        return option in known or (
            not option.startswith("--") and all(f"-{letter}" in known for letter in option[1:])
        )

    return {option: users[0].place for option, users in used.items() if not knows(option)}


def of_kind(kind: str) -> list[str]:
    return [name for name, held in HELD.items() if held.by == kind]


def help_of(*command: str) -> str:
    """Return what a program says of its options; skip where it is not installed."""
    path = shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        [path, *command[1:]], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


# Where --help is not the whole of it.
HELP_WORDS = {"curl": ("--help", "all"), "g++": ("--help", "-v"), "mpicxx": ("-showme:help",)}


@pytest.mark.parametrize("name", sorted(set(of_kind(HELP)) - {"docker", "apt-get"}))
def test_the_installed_program_knows_every_option(name):
    text = help_of(name, *HELP_WORDS.get(name, ("--help",)))
    assert unknown_options(used_options(name), text) == {}


def test_apt_get_takes_every_option():
    given = [option for option in used_options("apt-get") if option != "-o"]
    assert len(given) > 3
    assert help_of("apt-get", "-o", "DPkg::Lock::Timeout=600", *given, "--help").startswith("apt ")
    assert "not understood" in help_of("apt-get", "--nonsense", "--help")


def engine_options() -> dict[tuple[str, ...], dict[str, list[Command]]]:
    """Return the options that are given to the container engine, by its subcommand."""
    by_subcommand: dict[tuple[str, ...], dict[str, list[Command]]] = {}
    for command in commands():
        if command.program == "docker" and not command.words[1].startswith("-"):
            name = command.words[1:3] if command.words[1] in ("image", "container") else None
            used = by_subcommand.setdefault(name or command.words[1:2], {})
            for option in options(command.words[1:]):
                used.setdefault(option, []).append(command)
    assert {("run",), ("exec",), ("cp",), ("image", "inspect")} <= set(by_subcommand)
    return by_subcommand


@pytest.mark.parametrize(("name", "used"), engine_options().items(), ids=" ".join)
def test_the_manual_of_podman_has_every_option_of_each_subcommand(name, used):
    """Debian 12 has version 4.3.1."""
    known = {
        f"{dashes}{one}"
        for one in KNOWN[f"podman {' '.join(name)}"]["options"]
        for dashes in ("-", "--")
    }
    # GPUs by --gpus are docker's; podman has them by the Container Device Interface.
    assert set(used) - known - {"--gpus"} == set()


def test_docker_knows_every_option_of_each_subcommand():
    for name, used in engine_options().items():
        text = help_of("docker", *name, "--help")
        assert text.splitlines()[0].strip() or "Usage" in text, name
        assert f"Usage:  docker {' '.join(name)}" in text, name
        assert unknown_options(used, text) == {}, name


def test_ssh_knows_the_options_that_are_given_by_name():
    named = set()
    for command in commands():
        words = command.words
        if command.program == "ssh":
            named |= {words[at + 1] for at, word in enumerate(words[:-1]) if word == "-o"}
    for option in sorted(name for name in named if "=" in name):
        answer = help_of("ssh", "-F", "none", "-G", "-o", option, "node")
        assert f"{option.partition('=')[0].lower()} " in answer, option
    assert "Bad configuration option" in help_of("ssh", "-F", "none", "-G", "-o", "No=1", "node")


@pytest.mark.parametrize(
    ("template", "command"),
    [("sshd_config", ("sshd", "-t", "-f")), ("ssh_config", ("ssh", "-G", "node", "-F"))],
)
def test_the_real_programs_know_every_keyword_of_our_configurations(template, command, tmp_path):
    """A keyword that is known is complained of for its value at most."""
    text = (ROOT / f"roles/cluster_ssh/templates/{template}.j2").read_text()
    keywords = sorted(set(re.findall(r"(?m)^ *([A-Z]\w+) ", text)))
    assert len(keywords) > 10
    for keyword in [*keywords, "Nonsense"]:
        path = tmp_path / keyword
        path.write_text(f"{keyword} yes\n")
        answer = help_of(*command, str(path))
        refused = re.search(r"Bad configuration option|Unsupported option", answer)
        assert bool(refused) == (keyword == "Nonsense"), (keyword, answer)


def test_our_sshd_configuration_has_no_keyword_that_is_newer_than_openssh_8_2():
    """Ubuntu 20.04 has 8.2, Debian 11 has 8.4; the release notes name what came after."""
    newer = {
        *("PubkeyAcceptedAlgorithms", "HostbasedAcceptedAlgorithms", "PerSourceMaxStartups"),
        *("PerSourceNetBlockSize", "ModuliFile", "RequiredRSASize", "ChannelTimeout"),
        *("UnusedConnectionTimeout", "PerSourcePenalties", "RefuseConnection"),
    }
    text = (ROOT / "roles/cluster_ssh/templates/sshd_config.j2").read_text()
    keywords = set(re.findall(r"(?m)^ *([A-Z]\w+) ", text))
    assert newer & keywords == set()
    assert "PubkeyAcceptedKeyTypes" in keywords


def test_nvidia_smi_knows_every_option_as_it_says_on_a_real_node():
    captures = sorted((SHARED / "data/nvidia-smi").glob("*h100-80gb*"))
    if not captures:
        pytest.skip(f"{SHARED / 'data/nvidia-smi'} is not here")
    assert HELD["nvidia-smi"].by == CAPTURE
    text = captures[0].read_text().partition(":: help (-h)")[2].partition("# capabilities ::")[0]
    assert unknown_options(used_options("nvidia-smi"), text) == {}


@pytest.mark.parametrize("name", of_kind(LISTED))
def test_the_programs_sources_name_every_option(name):
    (key,) = [key for key in KNOWN if key == name or key.startswith(f"{name} cdi")]
    known = {f"-{name}" for name in KNOWN[key]["options"] if len(name) == 1}
    known |= {f"{dashes}{name}" for name in KNOWN[key]["options"] for dashes in ("-", "--")}
    used = used_options(name)
    unknown = {option: users[0].place for option, users in used.items() if option not in known}
    assert unknown == {}, KNOWN[key]["source"]


@pytest.mark.parametrize("name", of_kind(INSTALLED))
def test_the_installed_package_parses_every_option(name):
    files = [*ROOT.glob(TORCH)]
    if not files:
        pytest.skip("PyTorch is not installed in .state/venvs")
    known = set(re.findall(r"\"(--[\w-]+)\"", files[0].read_text()))
    used = used_options(name)
    assert {option: users[0].place for option, users in used.items() if option not in known} == {}


def test_our_own_programs_parse_every_option():
    assert HELD["workloads"].by == OWN
    known: set[str] = set()
    for path in (ROOT / "workloads").rglob("*.py"):
        known |= set(re.findall(r"[\"'](--[a-z][\w-]*)[\"']", path.read_text()))
    used = used_options("workloads")
    assert {option: users[0].place for option, users in used.items() if option not in known} == {}


@pytest.mark.parametrize("name", of_kind(TEST))
def test_the_test_that_is_named_is_there(name):
    named = re.findall(r"tests/\S+?\.py", HELD[name].why)
    assert named
    for path in named:
        assert (ROOT / path).is_file()


@pytest.mark.parametrize("name", sorted(HELD))
def test_every_entry_says_what_it_rests_on(name):
    assert len(HELD[name].why) > 10
    for path in re.findall(r"tests/\S+?\.py|molecule/\w+/\w+", HELD[name].why):
        assert (ROOT / path).exists(), path
