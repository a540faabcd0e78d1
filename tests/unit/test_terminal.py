"""What Ansible prints of a task on many hosts: each message once, and every host that has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.callback_plugins.scalebench import _in_one_line

ROOT = Path(__file__).resolve().parents[2]
TASKS = [
    {"name": "Greet", "ansible.builtin.debug": {"msg": "all say this"}},
    {
        "name": "Set a fact",
        "ansible.builtin.set_fact": {"some": 1},
        "changed_when": True,
        "when": "inventory_hostname not in ['n2', 'n10']",
    },
    {
        "name": "Require an adapter",
        "ansible.builtin.fail": {"msg": "{{ inventory_hostname }} has no adapter"},
        "when": "inventory_hostname in ['n1', 'n2', 'n3', 'n11']",
    },
    {
        "name": "Require a disk",
        "ansible.builtin.fail": {"msg": "exit code {{ inventory_hostname[1:] }}"},
        "when": "inventory_hostname in ['n4', 'n12']",
    },
]


def play_it(folder, playbook, *options):
    program = str(Path(sys.executable).parent / "ansible-playbook")
    return subprocess.run(
        [program, "-i", str(folder / "hosts"), str(playbook), *options],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder, hosts="n[1:12]", tasks=TASKS, **variables):
    """Write a play of the tasks and its hosts, by default twelve; return its path."""
    play = {"name": "Try", "hosts": "all", "gather_facts": False, "tasks": tasks}
    (folder / "play.yml").write_text(json.dumps([play]))
    values = "".join(f"{name}={value}\n" for name, value in variables.items())
    connection = "" if variables else " ansible_connection=local"
    # As for the local nodes: what Ansible sends is built and compiled once, not once a test.
    values += f"ansible_python_interpreter={sys.executable}\nscalebench_bytecode=true\n"
    (folder / "hosts").write_text(f"[nodes]\n{hosts}{connection}\n[nodes:vars]\n{values}")
    return folder / "play.yml"


def printed(folder, *options, code=2, **given):
    """Return the lines that the tasks leave on the hosts."""
    done = play_it(folder, write(folder, **given), *options)
    assert done.returncode == code, done.stdout + done.stderr
    # So Ansible warns of an error in a callback.
    assert "Callback dispatch" not in done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Return the lines of the twelve hosts."""
    return printed(tmp_path_factory.mktemp("twelve"))


def test_each_message_is_printed_once_with_all_its_hosts(lines):
    assert lines.count("all say this") == 1
    assert "  changed: Set a fact (n[1,3-9,11-12])" in lines
    at = next(i for i, line in enumerate(lines) if line.startswith("FAILED"))
    first = lines[at].split()[1].rstrip(":")
    assert lines[at + 1] == f"  {first} has no adapter"
    others = {"n1": "n[2-3,11]", "n2": "n[1,3,11]", "n3": "n[1-2,11]", "n11": "n[1-3]"}[first]
    assert lines[at + 2] == f"FAILED {others}: Require an adapter, with the message of {first}"


def test_a_host_with_a_message_of_its_own_is_named_with_it(lines):
    for host in ("n4", "n12"):
        at = lines.index(f"FAILED {host}: Require a disk")
        assert lines[at + 1] == f"  exit code {host[1:]}"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("lookup('benchmark_frameworks', folder='/nowhere')", "  /nowhere: no benchmark file"),
        # Which variable it is, one of Ansible's own does not say.
        ("lookup('ansible.builtin.file', '/nowhere')", "  Task failed: Finalization of task args"),
    ],
)
def test_a_lookup_of_ours_speaks_for_itself(tmp_path, expression, said):
    task = {"name": "Look up", "ansible.builtin.debug": {"msg": "{{ " + expression + " }}"}}
    lines = printed(tmp_path, hosts="n1", tasks=[task])
    assert lines[lines.index("FAILED n1: Look up") + 1].startswith(said)


def test_a_misspelt_benchmark_is_told_before_a_server_is_changed(tmp_path):
    (tmp_path / "hosts").write_text("[nodes]\nn1 ansible_host=192.0.2.1\n")
    given = ("-e", "benchmark=pytorh", "-e", f"scalebench_work_dir={tmp_path}/work")
    done = play_it(tmp_path, ROOT / "playbooks/provision.yml", *given)
    assert done.returncode == 2, done.stdout
    lines = done.stdout.splitlines()
    at = lines.index("FAILED Read the benchmark files")
    assert lines[at + 1].startswith("  -e benchmark=pytorh: there is no benchmark 'pytorh'; the")
    assert not [line for line in lines if "unreachable=1" in line]


def test_the_recap_has_a_line_for_hosts_with_the_same_counts(tmp_path):
    lines = printed(tmp_path, "--check")
    recap = [line.split(":")[0].strip() for line in lines if "unreachable=" in line]
    assert recap == ["n10", "n2", "n[1,3,11]", "n[4,12]", "n[5-9]"]


def test_verbose_is_ansibles_own_output(tmp_path):
    lines = printed(tmp_path, "-v")
    assert sum("unreachable=" in line for line in lines) == 12


def test_what_the_controller_does_alone_has_no_recap(tmp_path):
    lines = printed(tmp_path, hosts="localhost", code=0)
    assert lines == ["Try", "all say this", "  changed: Set a fact"]


def test_what_hosts_say_by_their_own_names_is_printed_once_with_the_others(tmp_path):
    say = {
        "name": "Say",
        "ansible.builtin.debug": {"msg": "{{ inventory_hostname }} is a container"},
    }
    lines = printed(tmp_path, hosts="n[1:3]", tasks=[say], code=0)
    said = [line for line in lines if line.endswith(" is a container")]
    assert len(said) == 1
    others = {"n1": "n[2-3]", "n2": "n[1,3]", "n3": "n[1-2]"}[said[0].split()[0]]
    assert lines[lines.index(said[0]) + 1] == f"  likewise: {others}"


def test_a_difference_is_printed_once_below_its_task_with_the_hosts_that_differ(tmp_path):
    (tmp_path / "both").write_text("old\n")
    (tmp_path / "other").write_text("older\n")
    tasks = [
        {
            "name": name,
            "ansible.builtin.copy": {"content": "new\n", "dest": f"{tmp_path}/{path}"},
        }
        for name, path in (
            ("Write one", "both"),
            ("Write two", "{{ 'other' if inventory_hostname == 'n2' else 'both' }}"),
        )
    ]
    looped = {"content": "new\n", "dest": f"{tmp_path}/{{{{ item }}}}"}
    tasks.append({"name": "Write three", "ansible.builtin.copy": looped, "loop": ["both", "third"]})
    lines = printed(tmp_path, "--check", "--diff", hosts="n[1:3]", tasks=tasks, code=0)
    assert lines.count("-old") == 3 and lines.count("-older") == 1
    at = lines.index("  would change: Write one (n[1-3])")
    assert lines[at + 1].startswith("--- before") and "-old" in lines[at:]
    at = lines.index("  would change: Write two (n[1-3])")
    rest = lines[at:]
    assert rest.index("  n2:") < rest.index("-older")
    assert rest.index("  n[1,3]:") < rest.index("-old")


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("A_TOKEN=oldold1\n", "A_TOKEN=newnew2\n", "(differs in secrets, which are not shown)"),
        ("old\x1b[2J\n", "new \u202e\n", "+new \ufffd"),
        ("one\r\n", "one\n", "-one\\r"),
        (f"-----BEGIN PRIVATE {'KEY'}-----\noldold1\n", "new\n", "-[redacted: private key]"),
    ],
)
def test_a_difference_has_neither_secrets_nor_escapes(tmp_path, before, after, shown):
    (tmp_path / "it").write_text(before, newline="")
    task = {"ansible.builtin.copy": {"content": after, "dest": f"{tmp_path}/it"}, "name": "Write"}
    lines = printed(tmp_path, "--check", "--diff", hosts="n1", tasks=[task], code=0)
    assert any(shown in line for line in lines), lines
    assert not {"\x1b", "\u202e"} & {*"".join(lines)}
    assert "oldold1" not in "".join(lines) and "newnew2" not in "".join(lines)


def fail(message, **keys):
    return {"name": "Fail", "ansible.builtin.fail": {"msg": message}, **keys}


def test_unreachable_hosts_whose_address_is_a_group_variable_follow_in_one_line(tmp_path):
    task = {"name": "Ask", "ansible.builtin.ping": {}}
    lines = printed(
        tmp_path,
        tasks=[task],
        code=4,
        ansible_host="127.0.0.{{ inventory_hostname[1:] | int + 1 }}",
        ansible_port=1,
        ansible_ssh_retries=0,
    )
    told = [line for line in lines if line.startswith("UNREACHABLE")]
    # The first, and the others of the twelve together; on a busy machine ssh may word some apart.
    assert 2 <= len(told) <= 6, "\n".join(lines)
    assert "with the message of" in told[-1]
    assert any("connect to host 127.0.0." in line for line in lines)


def test_what_hosts_say_has_neither_secrets_nor_escapes(tmp_path):
    secret = "hf_" + "a1B2" * 9
    said = f"\x1b[2J{secret} \u202egnp.exe | two  spaces"
    program = f"import sys; print({said!r}); sys.exit(1)"
    lines = printed(
        tmp_path,
        hosts="n1",
        tasks=[
            {"name": "Say", "ansible.builtin.debug": {"msg": said}},
            {"name": "Show", "ansible.builtin.debug": {"var": "inventory_hostname"}},
            {
                "name": "Run",
                "ansible.builtin.command": {"argv": [sys.executable, "-c", program]},
            },
        ],
    )
    clean = "[redacted: Hugging Face token]  gnp.exe | two  spaces"
    assert lines[1:3] == [clean, "n1"]
    assert f"    {clean}" in lines
    assert not {"\x1b", "\u202e", "hf_"} & {*"".join(lines)} and secret not in "".join(lines)


def test_what_is_rescued_or_ignored_is_no_failure(tmp_path):
    lines = printed(
        tmp_path,
        hosts="n1",
        code=0,
        tasks=[
            fail("{{ item }}", loop=["a", "b"], ignore_errors="{{ true }}"),
            {"block": [{"block": [fail("rescued")], "always": []}], "rescue": [TASKS[0]]},
        ],
    )
    assert lines[:2] == ["Try", "all say this"]
    assert not any("FAILED" in line or "-v for" in line for line in lines)


def test_repeats_whose_records_are_censored_are_passed_over(tmp_path):
    wave = {"campaign": "c", "session": "s", "directory": "{{ playbook_dir }}"}
    task = {"repeat_record": {**wave, "repeats": [], "runs": {}}, "no_log": True}
    lines = printed(tmp_path, hosts="n1", code=0, tasks=[task])
    assert not lines[0] or lines[0].startswith("PLAY RECAP")


def test_a_refusal_that_check_mode_passes_over_is_shown(tmp_path):
    refusal = {"that": False, "fail_msg": "end it first", "quiet": True}
    task = {"name": "Refuse", "ansible.builtin.assert": refusal, "ignore_errors": True}
    lines = printed(tmp_path, hosts="n1", code=0, tasks=[task])
    assert lines[1:3] == ["WOULD FAIL n1: Refuse", "  end it first"]
    lines = printed(tmp_path, hosts="n[1:3]", code=0, tasks=[task])
    first, others = lines[1].split()[2].rstrip(":"), {"n1", "n2", "n3"}
    *_, told = lines[3].rpartition("with the message of ")
    assert told == first and lines[3].startswith("WOULD FAIL n[") and first in others


def test_what_is_printed_is_in_the_log_that_ansible_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(tmp_path / "run.log"))
    lines = printed(tmp_path, hosts="n1", tasks=[{"name": "Stop", **fail("gone")}])
    log = (tmp_path / "run.log").read_text()
    assert all(line in log for line in lines[:3]) and "FAILED n1: " in log


def test_no_play_in_which_nothing_ran_is_named_at_the_end(tmp_path):
    plays = json.loads(write(tmp_path, hosts="n1").read_text())
    last = {"name": "Nothing runs here", "hosts": "n1", "gather_facts": False, "tasks": []}
    (tmp_path / "plays.yml").write_text(json.dumps([*plays, {**last, "tags": ["never"]}, last]))
    done = play_it(tmp_path, tmp_path / "plays.yml")
    assert "Nothing runs here" not in done.stdout


def test_a_failure_in_a_rescue_is_shown(tmp_path):
    block = {"block": [fail("first")], "rescue": [fail("second")]}
    lines = printed(tmp_path, hosts="n1", tasks=[block])
    assert lines[1:3] == ["FAILED n1: Fail", "  second"]
    assert lines[-1].startswith("Run the same command with -v")


def test_a_failed_loop_names_its_items_once(tmp_path):
    task = fail("no {{ item }}", loop=["a", "b", "c"], when="item != 'b'")
    lines = printed(tmp_path, hosts="n[1:3]", tasks=[task])
    first = lines[1].split()[1].rstrip(":")
    assert lines[1:3] == [f"FAILED {first}: Fail (a)", "  no a"]
    failures = [line for line in lines if line.startswith("FAILED")]
    assert len(failures) == 4
    assert all(sum(f"Fail ({item})" in line for line in failures) == 2 for item in "ac")


def test_a_failed_loop_of_secrets_says_why_it_says_nothing(tmp_path):
    lines = printed(tmp_path, hosts="n1", tasks=[fail("x", loop=["a"], no_log=True)])
    assert lines[1].startswith("FAILED n1: Fail") and "no_log" in lines[2]


def test_words_are_not_taken_for_hosts_names(tmp_path):
    task = fail("no {{ inventory_hostname }} driver")
    lines = printed(tmp_path, hosts="gpu\neth", tasks=[task], ansible_connection="local")
    assert sorted(line for line in lines if line.endswith("driver")) == [
        "  no eth driver",
        "  no gpu driver",
    ]


def test_a_failure_of_what_runs_once_for_all_nodes_names_none(tmp_path):
    task = {"name": "Judge", "ansible.builtin.fail": {"msg": "not good"}, "run_once": True}
    assert printed(tmp_path, tasks=[task])[1:3] == ["FAILED Judge", "  not good"]


def test_a_change_by_what_runs_once_for_all_nodes_names_none(tmp_path):
    tasks = [
        {"name": name, "ansible.builtin.command": "true", "run_once": once}
        for name, once in (("Write all", True), ("Write one", False))
    ]
    tasks = [*tasks, fail("end")]
    lines = printed(tmp_path, hosts="n1\nn2", tasks=tasks, ansible_connection="local")
    assert lines[1:3] == ["  changed: Write all", "  changed: Write one (n[1-2])"]


@pytest.mark.parametrize("name", ["bench", "preflight", "provision", "teardown"])
def test_an_inventory_without_nodes_is_refused(tmp_path, name):
    (tmp_path / "hosts").write_text("[servers]\nn1 ansible_connection=local\n")
    done = play_it(tmp_path, ROOT / f"playbooks/{name}.yml")
    assert done.returncode == 2, done.stdout
    assert "no host in group nodes of the inventory" in done.stdout


@pytest.mark.parametrize("inventory", sorted(path.name for path in (ROOT / "inventory").glob("*/")))
def test_the_plays_on_localhost_run_with_every_inventory(tmp_path, inventory):
    """With no variable but the inventory's: localhost is not in it, and so has no inventory_dir."""
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False}
    play["tasks"] = [{"ansible.builtin.command": "true"}]
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    done = play_it(tmp_path, tmp_path / "play.yml", "-i", str(ROOT / "inventory" / inventory))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_play_on_nodes_that_are_not_there_says_so(tmp_path):
    (tmp_path / "hosts").write_text("[servers]\nn1 ansible_connection=local\n")
    for hosts in ("nodes", "local_nodes"):
        (tmp_path / "play.yml").write_text(json.dumps([{"name": "Try", "hosts": hosts}]))
        done = play_it(tmp_path, tmp_path / "play.yml")
        assert ("no host of group nodes" in done.stdout) == (hosts == "nodes")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--limit", "node1"), "--limit node1 leaves out localhost, on which this playbook runs."),
        (("--limit", "localhost", "--tags", "other"), ""),
    ],
)
def test_a_playbook_on_this_machine_that_limit_leaves_out_says_so(tmp_path, options, said):
    (tmp_path / "hosts").write_text("[nodes]\nnode1\n")
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": TASKS[:1]}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    done = play_it(tmp_path, tmp_path / "play.yml", *options)
    assert said in done.stdout if said else done.stdout.strip() == "", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ((), False),
        (("--start-at-task", "Require a disk"), True),
        (("--skip-tags", "always"), True),
    ],
)
def test_what_leaves_out_the_claim_is_warned_of(tmp_path, options, warned):
    done = play_it(tmp_path, write(tmp_path, hosts="n4"), *options)
    assert ("leave out checks, and the claim" in done.stderr) is warned, done.stderr
    assert "Callback dispatch" not in done.stdout + done.stderr


def test_no_reason_of_a_node_looks_like_a_line_of_its_own():
    said = "   [1/2] a\u202eb\n   [2/2] forged\u2028\x1b[2J password=hunter22"
    shown = "   [1/2] a b    [2/2] forged  password=[redacted: value of a secret's name]"
    assert _in_one_line(said) == shown
