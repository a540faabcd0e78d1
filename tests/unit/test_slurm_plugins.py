"""The doors to Slurm, with stand-ins of its programs on PATH that say what Debian's 22.05 says."""

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.loader import (
    action_loader,
    callback_loader,
)
from ansible.utils.display import Display
from ansible_collections.scalebench.core.plugins.connection import slurm as carried
from ansible_collections.scalebench.core.plugins.connection.slurm import Connection
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import (
    STOPPED,
    EndedByCarrierError,
    told_of,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import ask

from action_plugins import slurm_job

JOB = "RUNNING|None|2026-11-23T00:56:18|n[1-2]|1:00:00|batch|7"
NODES = (
    "NodeName=n1 CPUTot=96 Gres=gpu:8 NodeAddr=10.0.0.1 RealMemory=1000 State=ALLOCATED\n"
    "NodeName=n2 CPUTot=96 Gres=gpu:8 NodeAddr=10.0.0.2 RealMemory=1000 State=ALLOCATED"
)
# Of srun --mpi=list; and of its help, where pyxis is.
MPI = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions: pmix_v4"
HELP = "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n"
ANSWERS = f"case $1 in --mpi=list) echo '{MPI}' >&2; exit;; --help) echo '{HELP}'; exit;; esac\n"
TRIED = "sbatch: Job 2 to start at 2026-11-23T00:56:17 using 8 processors on nodes n[1-2] in partition main"  # noqa: E501


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Put stand-ins on PATH; return a function that sets what one says, and what each was given."""
    calls = tmp_path / "calls"

    def says(program, script):
        path = tmp_path / program
        path.write_text(f'#!/bin/sh\necho "{program} $*" >> {calls}\n{script}\n')
        path.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    # In a real srun the command is the last word; here it runs on this machine.
    says("srun", ANSWERS + 'for last; do :; done; exec /bin/sh -c "$last"')
    says("squeue", f"echo '{JOB}'")
    says("scontrol", f"echo '{NODES}'")
    says("sbatch", f'[ "$1" = --parsable ] && echo "7;own" || echo "{TRIED}" >&2')
    return SimpleNamespace(
        says=says, calls=lambda: calls.read_text().splitlines() if calls.exists() else []
    )


@pytest.fixture
def connection(slurm, monkeypatch):
    made = Connection(PlayContext())
    monkeypatch.setattr(made, "get_option", {"host": "n2", "job": "7"}.get)
    return made


def test_a_command_gets_its_input_and_gives_its_output_and_exit_code(connection, slurm):
    code, output, errors = connection.exec_command("cat; echo oh >&2; exit 3", b"hello")
    assert (code, output, errors) == (3, b"hello", b"oh\n")
    (first, *_) = slurm.calls()
    assert first.startswith("srun --jobid=7 --overlap --nodelist=n2 ")


def test_a_command_hears_from_its_controller_after_its_input(connection, slurm, monkeypatch):
    monkeypatch.setattr(carried.commands, "BEAT_SECONDS", 0.05)
    heard = connection.exec_command("cat; head -c 3 <&3", b"in")[1]
    assert heard == b"in\n\n\n"
    connection.exec_command("true")
    told = ["SCALEBENCH_ALIVE=60" in call for call in slurm.calls() if call.startswith("srun")]
    assert told == [True, False]


def test_srun_has_no_options_from_the_environment(connection, slurm, monkeypatch):
    options = {"SLURM_NTASKS", "SRUN_DEBUG", "SBATCH_PARTITION", "SQUEUE_PARTITION"}
    options |= {"SCANCEL_STATE", "SCONTROL_ALL"}
    kept = {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT"}
    for name in options | kept:
        monkeypatch.setenv(name, "9")
    slurm.says("srun", "env")
    _, output, _ = connection.exec_command("x")
    names = {line.partition("=")[0] for line in output.decode().splitlines()}
    assert names & (options | kept) == kept


KILLED = "echo 'srun: error: n2: task 0: Killed' >&2; exit 137"
CREATES_NONE = "echo 'srun: error: Unable to create step for job 7: Unable to contact slurm controller (connect failure)' >&2; exit 1"  # noqa: E501


def test_options_of_squeue_do_not_hide_the_job(connection, slurm, monkeypatch):
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    slurm.says("srun", KILLED)
    slurm.says("squeue", f"[ -n \"$SQUEUE_PARTITION\" ] || echo '{JOB}'")
    assert connection.exec_command("x")[0] == 137


def test_slurm_is_not_asked_about_an_exit_code_of_the_command(connection, slurm):
    slurm.says("srun", "echo 'srun: error: n2: task 0: Exited with exit code 3' >&2; exit 3")
    slurm.says("squeue", "exit 1")
    assert connection.exec_command("x")[0] == 3
    assert not any(call.startswith("squeue") for call in slurm.calls())


@pytest.fixture
def impatient(monkeypatch):
    """Have patience for a second look, however long the first one takes on a busy machine."""
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.2 * next(looks), sleep=time.sleep)
    monkeypatch.setattr(carried, "time", clock)
    monkeypatch.setattr(carried, "AWAY_PATIENCE", 0.6)
    monkeypatch.setattr(carried, "CREATE_PATIENCE", 0.6)
    monkeypatch.setattr(carried, "AWAY_PAUSE", 0.1)


@pytest.mark.parametrize("answer", ["exit 1", "sleep 60"])
def test_an_exit_code_is_kept_where_slurmctld_stays_away(
    connection, slurm, impatient, monkeypatch, answer
):
    monkeypatch.setattr(carried, "ANSWER_PATIENCE", 0.2)
    slurm.says("srun", KILLED)
    slurm.says("squeue", answer)
    assert connection.exec_command("x")[0] == 137
    assert sum(call.startswith("squeue") for call in slurm.calls()) > 1


def test_a_step_that_slurmctld_did_not_create_is_tried_again(
    connection, slurm, tmp_path, impatient
):
    made = tmp_path / "made"
    slurm.says("srun", f"[ -e {made} ] && exec head -c 5; touch {made}; {CREATES_NONE}")
    assert connection.exec_command("x", b"given")[:2] == (0, b"given")
    source = tmp_path / "source"
    source.write_bytes(b"file")
    made.unlink()
    slurm.says("srun", f"[ -e {made} ] && exec cat > {tmp_path}/copy; touch {made}; {CREATES_NONE}")
    connection.put_file(str(source), "anywhere")
    assert (tmp_path / "copy").read_bytes() == b"file"


def test_a_slurmctld_that_stays_away_is_a_failed_launch(connection, slurm, impatient):
    slurm.says("srun", CREATES_NONE)
    with pytest.raises(EndedByCarrierError) as raised:
        connection.exec_command("x")
    assert (raised.value.ending, raised.value.over) == ("launch_failed", False)


def test_a_killed_srun_is_a_failed_launch_whose_command_lingers(connection, slurm):
    slurm.says("srun", "kill -9 $$")
    with pytest.raises(EndedByCarrierError) as raised:
        connection.exec_command("x")
    error = raised.value
    assert (error.ending, error.over, error.lingers) == ("launch_failed", False, True)
    assert error.reason == "Slurm job 7 on n2: srun was ended by SIGKILL"


def test_a_repeat_that_is_ended_meanwhile_is_not_started(connection, slurm, monkeypatch):
    """Its time limit or the failure of a peer comes while there is no srun that could be ended."""
    monkeypatch.setattr(carried, "AWAY_PAUSE", 20)
    slurm.says("srun", CREATES_NONE)
    timer = threading.Timer(0.5, STOPPED.set)
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(EndedByCarrierError):
            connection.exec_command("x")
    finally:
        timer.join()
        STOPPED.clear()
    assert time.monotonic() - began < 10
    assert sum(call.startswith("srun") for call in slurm.calls()) == 1


ROWS = "7|scalebench-x|RUNNING|0:0|n[1-2]\n7.batch|batch|RUNNING|0:0|n1"
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"


def test_the_accounting_says_why_a_step_ended_that_srun_does_not_explain(
    connection, slurm, tmp_path
):
    """The step is found by its name; it is recorded a moment after its end."""
    # The name that srun was given; at the first look the step still runs.
    slurm.says("srun", f"echo \"$*\" | grep -o 'scalebench-[0-9a-f]*' > {tmp_path}/name; {KILLED}")
    slurm.says(
        "sacct",
        f"""echo '{ROWS}'; state=OUT_OF_MEMORY; [ -e {tmp_path}/asked ] || state=RUNNING
        touch {tmp_path}/asked; echo "7.3|$(cat {tmp_path}/name)|$state|0:125|n2\"""",
    )
    with pytest.raises(EndedByCarrierError) as raised:
        connection.exec_command("x")
    assert (raised.value.ending, raised.value.over) == ("crashed", False)
    assert raised.value.reason == (
        "Slurm job 7 on n2: out of memory: sacct says OUT_OF_MEMORY, exit code 0:125, on n2"
    )
    # Its command was killed by somebody else.
    slurm.says("sacct", f'echo "7.3|$(cat {tmp_path}/name)|CANCELLED|0:9|n2"')
    assert connection.exec_command("x")[0] == 137


@pytest.mark.parametrize(
    ("sacct", "scontrol", "words"),
    [
        ("echo '7|x|TIMEOUT|0:0|n[1-2]'", "exit 1",
         "its time limit was reached: sacct says TIMEOUT"),
        (DISABLED, "echo 'JobId=7 JobState=COMPLETING Reason=TimeLimit ExitCode=0:15 NodeList=n1'",
         "its time limit was reached: scontrol says TIMEOUT, exit code 0:15, on n1"),
        (DISABLED, "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1",
         "it is ending"),
    ],
)  # fmt: skip
def test_a_job_that_is_ending_says_why(connection, slurm, monkeypatch, sacct, scontrol, words):
    monkeypatch.setattr(carried, "ENDING_PATIENCE", 0)
    monkeypatch.setattr(carried, "RECORD_PATIENCE", 0)
    slurm.says("srun", KILLED)
    slurm.says("squeue", f"echo '{JOB.replace('RUNNING', 'COMPLETING')}'")
    slurm.says("sacct", sacct)
    slurm.says("scontrol", scontrol)
    with pytest.raises(EndedByCarrierError) as raised:
        connection.exec_command("x")
    assert (raised.value.ending, raised.value.over) == ("interrupted", True)
    assert raised.value.reason.startswith(f"Slurm job 7 on n2: {words}")


def test_the_accounting_is_not_asked_where_srun_says_why(connection, slurm):
    slurm.says("srun", CREATES_NONE.replace("contact slurm controller", "do it"))
    slurm.says("sacct", "exit 1")
    with pytest.raises(EndedByCarrierError):
        connection.exec_command("x")
    assert not any(call.startswith("sacct") for call in slurm.calls())


def test_files_go_both_ways(connection, tmp_path):
    source, target, back = (tmp_path / name for name in ("a", "it's b", "c"))
    source.write_bytes(b"\x00\xff" * 100_000)
    connection.put_file(str(source), str(target))
    connection.fetch_file(str(target), str(back))
    assert back.read_bytes() == source.read_bytes()
    with pytest.raises(Exception, match="not read"):
        connection.fetch_file(str(tmp_path / "none"), str(back))


@pytest.mark.parametrize(
    ("state", "ending", "over"),
    [("RUNNING", "interrupted", False), ("TIMEOUT", "interrupted", True)],
)
def test_what_slurm_ended_is_told_with_its_ending(connection, slurm, state, ending, over):
    slurm.says(
        "srun", "echo 'slurmstepd: error: *** STEP 7.1 ON n2 CANCELLED AT x ***' >&2; exit 143"
    )
    slurm.says("squeue", f"echo '{JOB.replace('RUNNING', state)}'")
    with pytest.raises(EndedByCarrierError) as raised:
        connection.exec_command("x")
    assert (raised.value.ending, raised.value.over) == (ending, over)
    told = told_of(raised.value)
    assert told["unreachable"]
    assert (told["ending"], told["carrier_over"]) == (ending, over)


def test_with_ssh_a_lost_node_is_all_that_is_told():
    assert told_of(AnsibleConnectionFailure("no route")) == {"unreachable": True, "msg": "no route"}


def run(name, args, check=False):
    """Return the answer of an action plugin."""
    task = Task()
    task.args, task.check_mode, task.action = args, check, name
    action = action_loader.get(
        name, task=task, connection=SimpleNamespace(_shell=SimpleNamespace(tmpdir=None)),
        play_context=PlayContext(), loader=None, templar=None, shared_loader_obj=None,
    )  # fmt: skip
    return action.run(task_vars={})


def job(tmp_path, check=False, **args):
    options = {"options": {"nodes": 2, "gpus_per_node": 8}, "results_dir": str(tmp_path), **args}
    return run("slurm_job", options, check)


def test_a_job_is_tried_and_then_submitted(slurm, tmp_path):
    answer = job(tmp_path)
    assert (answer["job"], answer["own"]) == ("7", True)
    asked = [f"scontrol --oneliner show {what}" for what in ("partition main", "node n[1-2]")]
    of_srun = ["srun --mpi=list", "srun --help"]
    assert slurm.calls() == ["sbatch --test-only", *asked, *of_srun, "sbatch --parsable"]
    assert answer["srun"]["path"].endswith("/srun")
    assert (answer["srun"]["mpi"], answer["srun"]["containers"]) == ("pmix", True)


def test_a_job_that_slurm_took_before_the_playbook_was_ended_is_cancelled(slurm, tmp_path):
    (tmp_path / "taken").mkdir()
    answers = f"until [ -e {tmp_path}/signalled ]; do sleep 0.05; done; echo 7"
    slurm.says("sbatch", f"touch {tmp_path}/taken/job; {answers}")
    slurm.says("scancel", "")
    worker = os.fork()
    if not worker:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        slurm_job._submit("#!/bin/sh")
        os._exit(0)
    while not (tmp_path / "taken/job").exists():
        time.sleep(0.01)
    os.kill(worker, signal.SIGTERM)
    (tmp_path / "signalled").touch()
    assert os.WTERMSIG(os.waitpid(worker, 0)[1]) == signal.SIGTERM
    assert slurm.calls() == ["sbatch --parsable", "scancel 7"]


def test_words_of_the_site_in_another_encoding_hide_no_answer(slurm):
    slurm.says("scontrol", r"printf 'Reason=d\351fectueux\n'")
    assert ask(["scontrol", "show", "node"]) == "Reason=d\N{REPLACEMENT CHARACTER}fectueux\n"


def test_mpi_systems_that_srun_cannot_start_are_told_before_anything_is_submitted(slurm, tmp_path):
    assert job(tmp_path, mpi="pmi2", ask_only=True)["srun"]["mpi"] == "pmi2"
    with pytest.raises(Exception, match=r"slurm_mpi=pmix_v9: .* has pmi2, pmix, pmix_v4"):
        job(tmp_path, mpi="pmix_v9")
    assert not any("--parsable" in call for call in slurm.calls())


@pytest.mark.parametrize("asked", [{"gres": "gpu:8"}, {"gres": "none"}, {"gpus_per_node": "4"}])
def test_gpus_that_are_asked_for_are_not_questioned(slurm, tmp_path, asked):
    assert job(tmp_path, options={"nodes": 2, **asked})["job"] == "7"


def test_nodes_whose_gpus_nobody_asked_for_are_refused_before_submission(slurm, tmp_path):
    for gres in ("", "nvme:1", "gpu:0"):
        with pytest.raises(Exception, match=r"n1 has 8 GPUs .*-e slurm_gpus_per_node=8"):
            job(tmp_path, options={"nodes": 2, "gpus_per_node": "", "gres": gres})
    assert not any("--parsable" in call for call in slurm.calls())
    slurm.says("scontrol", f"echo '{NODES.replace('gpu:8', '(null)')}'")
    assert job(tmp_path, options={"nodes": 2})["job"] == "7"


def test_a_topology_of_more_gpus_than_the_job_has_is_refused_before_submission(slurm, tmp_path):
    two = {"nodes": 2, "gpus_per_node": 2}
    assert job(tmp_path, options=two, topology="1n1g,2n*g,2n2g")["job"] == "7"
    message = r"topology=2n8g: it needs 8 GPUs of each node, and the job asks for 2: .*node=8"
    with pytest.raises(Exception, match=message):
        job(tmp_path, options=two, topology=["1n1g", "2n8g"])
    # Processes on the cores.
    assert job(tmp_path, options={"nodes": 2, "gres": "none"}, topology="2n8g")["job"] == "7"


@pytest.mark.parametrize("words", ["echo 'lua: be nice' >&2; echo 7", "echo Hello; echo '7;own'"])
def test_a_message_of_the_site_is_no_part_of_the_id(slurm, tmp_path, words):
    slurm.says("sbatch", words)
    assert job(tmp_path)["job"] == "7"


def test_an_answer_without_an_id_is_an_error(slurm, tmp_path):
    slurm.says("sbatch", "echo done")
    with pytest.raises(Exception, match=r"sbatch --parsable: .*'done'.*no id of a job"):
        job(tmp_path)


def test_a_message_of_the_site_is_no_part_of_the_queue(slurm):
    slurm.says("squeue", f"echo 'a message' >&2; echo '{JOB}'")
    assert len(run("slurm_nodes", {"job": "7"})["nodes"]) == 2


def test_what_slurm_refuses_is_not_submitted(slurm, tmp_path):
    slurm.says("sbatch", "echo 'allocation failure: Invalid partition name specified' >&2; exit 1")
    with pytest.raises(Exception, match=r"sbatch --test-only: .*Invalid partition name"):
        job(tmp_path)
    assert slurm.calls() == ["sbatch --test-only"]


def test_only_asked_nothing_is_submitted(slurm, tmp_path):
    (first, _) = job(tmp_path, ask_only=True)["nodes"]
    assert (first["name"], first["gpus"]) == ("n1", 8)
    (first, _) = job(tmp_path, ask_only=True, options={"nodes": 2, "gres": "none"})["nodes"]
    assert first["gpus"] == 0
    (first, _) = job(tmp_path, ask_only=True, options={"nodes": 2, "gpus_per_node": "h100:2"})[
        "nodes"
    ]
    assert first["gpus"] == 2
    assert not any("--parsable" in call for call in slurm.calls())


def test_an_estimated_time_limit_is_asked_for_where_none_is_set_and_slurm_takes_it(slurm, tmp_path):
    def limits(minutes, **options):
        text = job(
            tmp_path, check=True, minutes=minutes, options={"nodes": 2, "gres": "none", **options}
        )["text"]
        return [line for line in text.splitlines() if "--time" in line]

    def partition(longest, default="NONE"):
        told = f"PartitionName=main DefaultTime={default} MaxTime={longest} State=UP"
        slurm.says(
            "scontrol", f'case "$*" in *" partition main") echo "{told}";; *) echo "{NODES}";; esac'
        )

    partition("UNLIMITED")
    assert limits(25) == ["#SBATCH --time=25"]
    # Slurm takes longer limits, and lets the job wait for ever, unless EnforcePartLimits is set.
    partition("00:10:00")
    assert limits(25) == ["#SBATCH --time=10"]
    assert limits(25, time="1h") == ["#SBATCH --time=60"]
    assert limits(0) == []
    refuses = f"grep -qE -- '--time=(25|60)' && exit 1; echo '{TRIED}' >&2"
    slurm.says("sbatch", refuses)
    # The partition's limit, which jobs have that ask for none.
    assert limits(25) == []
    refuses = f"grep -q -- --time && exit 1; echo '{TRIED}' >&2"
    slurm.says("sbatch", refuses)
    assert limits(25) == []
    # Jobs that ask for none would have the default, whatever the campaign needs.
    partition("02:00:00", "00:10:00")
    assert limits(0) == []
    slurm.says("sbatch", f"grep -q -- --time=25 && exit 1; echo '{TRIED}' >&2")
    assert limits(25) == limits(0) == ["#SBATCH --time=120"]


def test_check_mode_shows_the_script_and_each_step(slurm, tmp_path):
    answer = job(tmp_path, check=True)
    assert "#SBATCH --nodes=2" in answer["text"]
    assert [line.split()[3] for line in answer["text"].splitlines() if line.startswith("srun")] == [
        "--nodelist=n1",
        "--nodelist=n2",
    ]
    assert not any("--parsable" in call for call in slurm.calls())


def test_the_shown_line_has_the_environment_of_a_real_step(
    connection, slurm, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    shown = job(tmp_path, check=True)["text"].splitlines()[-1]
    of_a_job = run("slurm_nodes", {"job": "7"}, check=True)["steps"][-1]
    connection.exec_command("true")
    real = next(call for call in slurm.calls() if call.startswith("srun"))
    # A job that is not submitted has no number.
    lines = (shown.replace("=JOB", "=7"), of_a_job, real)
    exports = [re.search(r"--export=(\S+)", line)[1] for line in lines]
    assert len({*exports}) == 1
    assert "HOME=/home/alice" in exports[0] and "LANG=en_GB.UTF-8" in exports[0]
    assert "--jobid=7 " in of_a_job


def test_an_allocation_that_exists_is_used(slurm, tmp_path):
    answer = job(tmp_path, job="12")
    assert (answer["job"], answer["own"]) == ("12", False)
    assert slurm.calls() == ["srun --mpi=list", "srun --help"]
    for words in ("12;id", "12_1"):
        with pytest.raises(Exception, match=r"is not the number of a job.*squeue --format=%A"):
            job(tmp_path, job=words)


def test_without_slurm_the_login_node_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Exception, match=r"sbatch is not on PATH: .*login node"):
        job(tmp_path)


def test_the_nodes_of_a_job_are_returned_once_it_has_them(slurm, tmp_path, monkeypatch):
    slurm.says(
        "squeue",
        f"""case "$*" in
        *PENDING*) echo 3; echo 7;;
        *) [ -e {tmp_path}/asked ] && echo '{JOB}' || echo 'PENDING|Priority|N/A||INVALID|batch|7'
           touch {tmp_path}/asked;; esac""",
    )
    answer = run("slurm_nodes", {"job": "7"})
    assert [node["address"] for node in answer["nodes"]] == ["10.0.0.1", "10.0.0.2"]
    assert answer["waited_seconds"] > 0
    assert answer["seconds_left"] == 3600


def test_an_unanswered_question_costs_no_place_in_the_queue(slurm, tmp_path, monkeypatch):
    """slurmctld is away for the first looks, and again when the nodes are asked for."""
    slurm.says(
        "squeue",
        f"""echo >> {tmp_path}/asked
        case $(wc -l < {tmp_path}/asked) in
        1) echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1;;
        2) echo 'PENDING|Priority|N/A||INVALID|batch|7';; 3 | 4) exit 1;; *) echo '{JOB}';; esac""",
    )
    slurm.says(
        "scontrol",
        f"[ -e {tmp_path}/told ] || {{ touch {tmp_path}/told; exit 1; }}; echo '{NODES}'",
    )
    said = []
    monkeypatch.setattr(Display, "display", lambda _, text, *args, **options: said.append(text))
    assert len(run("slurm_nodes", {"job": "7"})["nodes"]) == 2
    # The third question is for the jobs before it.
    assert [text.split(":")[0].strip() for text in said] == [
        "Slurm job 7", "Slurm job 7 waits, reason Priority", "Slurm job 7", "Slurm job 7",
    ]  # fmt: skip


def test_a_row_without_a_state_is_no_answer(slurm, tmp_path):
    slurm.says(
        "squeue",
        f"""[ -e {tmp_path}/asked ] && echo '{JOB}' || echo '|None|N/A|n1|1:00:00|batch|7'
        touch {tmp_path}/asked""",
    )
    assert len(run("slurm_nodes", {"job": "7"})["nodes"]) == 2


def test_a_job_that_slurm_does_not_know_is_not_waited_for(slurm):
    slurm.says("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    with pytest.raises(Exception, match="Slurm job 7: Slurm does not know it"):
        run("slurm_nodes", {"job": "7"})


def test_of_an_array_the_job_of_that_number_is_taken(slurm):
    other = JOB.replace("n[1-2]", "n9").replace("|7", "|6")
    slurm.says("squeue", f"echo '{other}'; echo '{JOB}'")
    run("slurm_nodes", {"job": "7"})
    assert "scontrol --oneliner show node n[1-2]" in slurm.calls()
    with pytest.raises(Exception, match="does not know it; for one of an array"):
        run("slurm_nodes", {"job": "5"})


def test_the_terminal_says_what_the_job_has(slurm):
    says = run("slurm_nodes", {"job": "7"})["allocation"]["says"]
    assert says.startswith("Slurm job 7 on n[1-2] (96 CPUs, 8 GPUs, 1000 MiB each), after ")


# A worker of an ansible-playbook, whose parent is killed while the job waits in the queue.
WAITER = """
import os, sys, time
sys.path.insert(0, {tests!r})
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
from test_slurm_plugins import run
if os.fork():
    time.sleep(120)
else:
    print(os.getpid(), flush=True)
    run("slurm_nodes", {{"job": "7", "own": {own}}})
"""


@pytest.mark.parametrize(("own", "cancelled"), [(True, ["scancel 7"]), (False, [])])
def test_nobody_waits_for_a_killed_playbook_and_its_job_is_cancelled(slurm, own, cancelled):
    slurm.says("squeue", "echo 'PENDING|Priority|N/A||INVALID|batch|7'")
    slurm.says("scancel", "")
    code = WAITER.format(tests=str(Path(__file__).parent), own=own)
    # Both hold the pipe open: at its end both have ended.
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as process:
        child = int(process.stdout.readline())
        end = time.monotonic() + 60
        while not any("PENDING" in call for call in slurm.calls()):
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.1)
        process.kill()
        try:
            # What the waiting one says of the queue may come before the end.
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.kill(child, signal.SIGKILL)
            raise
    assert [call for call in slurm.calls() if call.startswith("scancel")] == cancelled


# A worker that begins to wait when its ansible-playbook is gone already.
LATE = """
import multiprocessing, sys
from types import SimpleNamespace
sys.path.insert(0, {tests!r})
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
from test_slurm_plugins import run
multiprocessing.parent_process = lambda: SimpleNamespace(pid=1 << 22)
run("slurm_nodes", {{"job": "7", "own": True}})
"""


def test_nobody_begins_to_wait_for_a_playbook_that_is_gone(slurm):
    slurm.says("squeue", "echo 'PENDING|Priority|N/A||INVALID|batch|7'")
    slurm.says("scancel", "")
    code = LATE.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], timeout=60, check=False
    )
    assert done.returncode == -signal.SIGTERM
    assert slurm.calls() == ["scancel 7"]


def test_a_job_that_ends_in_the_queue_is_an_error(slurm):
    slurm.says("squeue", "echo 'CANCELLED|None|N/A||INVALID|batch|7'")
    with pytest.raises(Exception, match="Slurm job 7 ended before it had nodes: CANCELLED"):
        run("slurm_nodes", {"job": "7"})


@pytest.mark.parametrize(("answer", "cancelled"), [
    ({"job": "7", "own": True}, ["scancel 7"]),
    ({"job": "7", "own": False}, []),
    ({"job": "", "own": True}, []),
])  # fmt: skip
def test_a_job_of_ours_is_cancelled_once_at_the_end(slurm, answer, cancelled):
    slurm.says("scancel", "")
    plugin = callback_loader.get("allocations")
    task = SimpleNamespace(action="slurm_job")
    plugin.v2_runner_on_ok(SimpleNamespace(task=task, result=answer))
    plugin.v2_playbook_on_stats(None)
    plugin.give_back()
    assert slurm.calls() == cancelled


# A run below nohup ignores SIGHUP, and so would this.
HOLDER = """
import signal, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from types import SimpleNamespace
from ansible.plugins.loader import callback_loader, init_plugin_loader
init_plugin_loader()
plugin = callback_loader.get("allocations")
task = SimpleNamespace(action="slurm_job")
plugin.v2_runner_on_ok(SimpleNamespace(task=task, result={"job": "7", "own": True}))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_job_back_and_ends_the_process(slurm, number):
    slurm.says("scancel", "")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, env=dict(os.environ)
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
    assert slurm.calls() == ["scancel 7"]


def test_a_job_is_given_back_although_ctrl_c_ends_the_program_that_does_so(slurm, monkeypatch):
    def interrupted(_jobs):
        raise KeyboardInterrupt

    slurm.says("scancel", "")
    plugin = callback_loader.get("allocations")
    task = SimpleNamespace(action="slurm_job")
    plugin.v2_runner_on_ok(SimpleNamespace(task=task, result={"job": "7", "own": True}))
    with monkeypatch.context() as meanwhile, pytest.raises(KeyboardInterrupt):
        meanwhile.setitem(plugin.give_back.__globals__, "cancel", interrupted)
        plugin.v2_playbook_on_stats(None)
    plugin.give_back()
    assert slurm.calls() == ["scancel 7"]


@pytest.mark.parametrize("reason", ["DependencyNeverSatisfied", "BadConstraints", "JobHeldAdmin"])
def test_a_job_that_cannot_start_is_not_waited_for(slurm, tmp_path, reason):
    # After the second look the stand-in has the job running, so that this test ends in any case.
    slurm.says(
        "squeue",
        f"""[ -e {tmp_path}/asked ] && echo '{JOB}' || echo 'PENDING|{reason}|N/A||INVALID|batch|7'
        case "$*" in *PENDING*) touch {tmp_path}/asked;; esac""",
    )
    with pytest.raises(Exception, match=f"Slurm job 7 will not start by itself: {reason}"):
        run("slurm_nodes", {"job": "7"})


def planned(monkeypatch, *names):
    """Have every campaign planned on these nodes."""
    plugins = "ansible_collections.scalebench.core.plugins.plugin_utils"
    plan = {"nodes": {name: {} for name in names}}
    monkeypatch.setattr(f"{plugins}.campaign_files.kept_plan", lambda _folder: plan)


def test_a_campaign_asks_for_those_of_its_nodes_that_are_there(slurm, tmp_path, monkeypatch):
    planned(monkeypatch, "n1", "n3")
    gone = "NodeName=n1 State=DOWN*+DRAIN"
    slurm.says(
        "scontrol",
        f"""case "$*" in *n1,n3*) echo '{gone}'; echo 'NodeName=n3 State=IDLE';;
        *" n2") echo 'NodeName=n2 State=IDLE';; *) echo '{NODES}';; esac""",
    )
    # The nodes of the campaign are left out where others are looked for.
    one = TRIED.replace("n[1-2]", "n2")
    slurm.says(
        "sbatch",
        f"""script=$(cat); case "$script" in
        *nodelist=n\\[*exclude=n1,n3* | *exclude=n1,n3*nodelist=n\\[*) exit 1;;
        *exclude=n1,n3*) case "$script" in *--nodes=1*) echo '{one}' >&2;; esac;;
        *) echo '{TRIED}' >&2;; esac""",
    )
    text = job(tmp_path, check=True, campaign="c", options={"gres": "none", "nodelist": "n[1,3]"})[
        "text"
    ]
    assert {"#SBATCH --nodes=2", "#SBATCH --nodelist=n3,n2"} <= {*text.splitlines()}
    slurm.says("squeue", f"echo '{JOB}'")
    found = run("slurm_nodes", {"job": "7", "campaign": "c", "results_dir": str(tmp_path)})["nodes"]
    assert [(node["name"], node["host"]) for node in found] == [("n1", "n1"), ("n3", "n2")]


def test_a_node_that_is_gone_is_replaced_by_one_of_its_hardware(slurm, tmp_path, monkeypatch):
    planned(monkeypatch, "n1", "n2")
    slurm.says(
        "scontrol",
        """case "$*" in *n1,n2) echo 'NodeName=n1 CPUTot=96 Gres=gpu:a100:8 State=IDLE'
        echo 'NodeName=n2 CPUTot=96 Gres=gpu:a100:8 State=DOWN+DRAIN';;
        *" v9") echo 'NodeName=v9 CPUTot=40 Gres=gpu:v100:4 State=IDLE';;
        *" n3") echo 'NodeName=n3 CPUTot=96 Gres=gpu:a100:8 State=IDLE';;
        *" n1,n3") echo 'NodeName=n1 State=IDLE'; echo 'NodeName=n3 State=IDLE';; esac""",
    )
    tried = {name: TRIED.replace("n[1-2]", name) for name in ("v9", "n3", "n1,n3")}
    slurm.says(
        "sbatch",
        f"""case "$(cat)" in *exclude=n1,n2,v9*) echo '{tried["n3"]}' >&2;;
        *exclude=n1,n2*) echo '{tried["v9"]}' >&2;; *) echo '{tried["n1,n3"]}' >&2;; esac""",
    )
    text = job(tmp_path, check=True, campaign="c", options={"gres": "none"})["text"]
    assert "#SBATCH --nodelist=n1,n3" in text.splitlines()
    slurm.says("sbatch", f"echo '{tried['v9']}' >&2")
    with pytest.raises(Exception, match="Slurm would take v9, which --exclude names"):
        job(tmp_path, check=True, campaign="c", options={"gres": "none"})


@pytest.mark.parametrize(
    ("answer", "over"),
    [
        (f"echo '{JOB}'", False),
        (f"echo '{JOB.replace('RUNNING', 'SUSPENDED')}'", False),
        (f"echo '{JOB.replace('RUNNING', 'COMPLETING')}'", False),
        (f"echo '{JOB.replace('RUNNING', 'TIMEOUT')}'", True),
        (f"echo '{JOB.replace('RUNNING', ' ')}'", False),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", True),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", False),
    ],
)
def test_a_claim_ends_with_the_job_that_held_the_node(connection, slurm, answer, over):
    slurm.says("squeue", answer)
    assert connection.is_over("7") is over


def test_a_planned_node_that_slurm_has_no_more_is_replaced(slurm, tmp_path, monkeypatch):
    planned(monkeypatch, "n1", "gone")
    slurm.says(
        "scontrol",
        """case "$*" in
        *n1,gone) echo 'NodeName=n1 State=IDLE'; echo 'Node gone not found' >&2; exit 1;;
        *" n2") echo 'NodeName=n2 State=IDLE';; *) echo 'NodeName=n1 State=IDLE';; esac""",
    )
    one = TRIED.replace("n[1-2]", "n2")
    slurm.says(
        "sbatch",
        f"""case "$(cat)" in *exclude=*gone*) echo 'Invalid node name specified' >&2; exit 1;;
        *exclude=n1*) echo '{one}' >&2;; *) echo '{TRIED}' >&2;; esac""",
    )
    text = job(tmp_path, check=True, campaign="c", options={"gres": "none"})["text"]
    assert "#SBATCH --nodelist=n1,n2" in text.splitlines()
    slurm.says("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(Exception, match="Unable to contact slurm controller"):
        job(tmp_path, check=True, campaign="c", options={"gres": "none"})


def test_the_queue_is_asked_ever_less_often_up_to_once_a_minute(slurm, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    slurm.says(
        "squeue",
        f"""echo x >> {tmp_path}/asked
        [ $(wc -l < {tmp_path}/asked) -gt 20 ] && echo '{JOB}' ||
        echo 'PENDING|Priority|N/A||1:00|batch|7'""",
    )
    run("slurm_nodes", {"job": "7"})
    # Less those of Python, while it waits for a program.
    pauses = [pause for pause in pauses if pause >= 0.5]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, *[60] * (len(pauses) - 7)]
    assert len(pauses) > 8
