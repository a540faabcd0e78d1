"""What Slurm's programs answer; the texts are those of Debian's Slurm 22.05.8, shortened."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.logs._ending import scan
from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers

NODE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.37"
    " AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=10.14.0.1"
    " NodeHostName=n1 Version=22.05.8 OS=Linux 6.1.0 #1 SMP Debian RealMemory=2000 AllocMem=0"
    " FreeMem=8000 State=IDLE ThreadsPerCore=1 Partitions=main"
)
CANCELLED = (
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    "slurmstepd-n4: error: *** STEP 5.6 ON n4 CANCELLED AT 2026-11-23T00:56:26{} ***\n"
    "srun: error: n4: task 0: Terminated\n"
)


def test_a_node_has_its_address_cpus_and_memory():
    (node,) = answers.nodes(NODE + "\n")
    assert node == answers.SlurmNode("n1", "10.14.0.1", 2, 0, 2000, "IDLE")


def test_a_value_with_blanks_is_read_whole():
    assert answers.fields(NODE)["OS"] == "Linux 6.1.0 #1 SMP Debian"


def test_words_of_an_administrator_are_no_fields():
    line = NODE.replace("State=IDLE", "State=IDLE+DRAIN") + " Reason=was State=IDLE before [root@x]"
    assert answers.nodes(line)[0].state == "IDLE+DRAIN"


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        *(("gpu:8", 8), ("gpu:h100:8(S:0-1)", 8), ("gpu", 1), ("(null)", 0), ("", 0)),
        *(("shard:8,gpu:a100:4", 4), ("gpu:a:2,gpu:b:2", 4), ("gpu:4(S:0,1),nic:2", 4)),
    ],
)
def test_gpus_are_counted_among_generic_resources(gres, gpus):
    (node,) = answers.nodes(NODE.replace("(null) NodeAddr", f"{gres} NodeAddr"))
    assert node.gpus == gpus


@pytest.mark.parametrize("odd", ["N/A", "\u00b2", "9" * 5000, "-1", "1.5", ""])
def test_an_odd_number_is_none(odd):
    line = f"NodeName=n1 CPUTot={odd} RealMemory={odd} Gres=gpu:{odd} State=IDLE"
    assert answers.nodes(line) == [answers.SlurmNode("n1", "n1", 0, 1, 0, "IDLE")]
    told = f"PartitionName=main DefaultTime={odd}-00:00:00 MaxTime={odd}:00"
    assert answers.limits_of_time(told) == (None, None)


def test_no_answer_is_no_node():
    assert answers.nodes("") == []


def test_a_job_has_its_place_in_the_queue():
    waits = answers.queued("PENDING|Resources|2026-11-23T02:00:00||1:00:00|batch|12\n", "12")
    assert (waits.waits, waits.runs) == (True, False)
    assert answers.waiting_text("12", waits, ["9", "12", "13"]) == (
        "Slurm job 12 waits, number 2 of 3 waiting jobs that squeue shows of partition batch,"
        " reason Resources, expected to start at 2026-11-23T02:00:00"
    )
    runs = answers.queued("RUNNING|None|2026-11-23T00:56:18|n[1-4]|59:01|batch|12\n", "12")
    assert (runs.waits, runs.runs, runs.nodes) == (False, True, "n[1-4]")
    over = answers.queued("CANCELLED|None|N/A||INVALID|batch|12\n", "12")
    assert (over.waits, over.runs) == (False, False)


def test_what_slurm_does_not_say_is_not_said():
    waits = answers.queued("PENDING|None|N/A||INVALID|batch|12\n", "12")
    assert answers.waiting_text("12", waits, []) == "Slurm job 12 waits"


def test_a_job_that_slurm_has_forgotten_is_none():
    assert answers.queued("", "7") is None


def test_the_nodes_of_a_try_are_found():
    told = (
        "sbatch: Job 2 to start at 2026-11-23T00:56:17 using 8 processors on nodes n[1-4] in"
        " partition main"
    )
    assert answers.tried(told) == "n[1-4]"
    assert answers.tried_partition(told) == "main"
    assert answers.tried("allocation failure: Invalid partition name specified") == ""
    assert answers.tried_partition("allocation failure: Invalid partition name specified") == ""


@pytest.mark.parametrize(
    ("default", "limit", "minutes"),
    [
        ("NONE", "00:10:00", (None, 10)),
        ("00:30:00", "1-00:00:00", (30, 1440)),
        ("01:00:00", "UNLIMITED", (60, None)),
    ],
)
def test_a_partition_has_a_default_and_a_longest_time(default, limit, minutes):
    told = f"PartitionName=main DefaultTime={default} MaxNodes=UNLIMITED MaxTime={limit} State=UP"
    assert answers.limits_of_time(told) == minutes


def test_a_job_that_may_start_no_more_steps_is_over():
    # ESLURM_STEP_LIMIT in Slurm's slurm_errno.c.
    told = "srun: error: Unable to create step for job 7: Step limit reached for this job"
    found = end(told, code=1)
    assert (found.ending, found.job_over) == ("interrupted", True)
    assert "Step limit reached" in found.reason


def end(errors, state="RUNNING", code=143):
    return answers.end_of_step("5", "n4", code, errors, state)


def test_a_command_that_fails_by_itself_is_no_end_of_the_step():
    told = "srun: error: n2: task 0: Exited with exit code 3\nsrun: launch/slurm: _step_signal\n"
    assert end(told, code=3) is None
    assert end("srun: error: n3: task 0: Killed\n", code=137) is None
    assert end("srun: cluster configuration lacks support for cpu binding\n", code=2) is None


def test_an_exit_code_is_the_commands_whatever_else_srun_says():
    told = "srun: error: n2: task 0: Exited with exit code 3\n"
    others = (
        "srun: error: spank: x: failed\n" + told,
        told + "srun: error: Timed out waiting for job step to complete\n",
    )
    for errors in others:
        assert not answers.needs_state(3, errors)
        for state in ("RUNNING", "COMPLETING", None):
            assert end(errors, state, code=3) is None
    # Memory that ran out is told beside the exit code of a command that catches it.
    oom = told + "slurmstepd: error: Detected 1 oom_kill event in StepId=5.3.\n"
    assert end(oom, code=3).ending == "crashed"


def test_without_an_answer_of_slurm_the_words_count():
    assert end(CANCELLED.format(" DUE TO TIME LIMIT"), None).ending == "interrupted"
    assert end("srun: error: n3: task 0: Killed\n", None, code=137) is None
    assert end("srun: error: Task launch for StepId=5.1 failed on node n4\n", None).ending == (
        "launch_failed"
    )


@pytest.mark.parametrize(
    ("errors", "away"),
    [
        ("Unable to create step for job 5: Unable to contact slurm controller (connect)", 1),
        ("Unable to confirm allocation for job 5: Unable to contact slurm controller", 1),
        ("Unable to create step for job 5: Socket timed out on send/recv operation", 1),
        ("Unable to create step for job 5: Memory required by task is not available", 1),
        ("Unable to create step for job 5: Requested nodes are busy", 1),
        ("Unable to create step for job 5: Requested operation is presently disabled", 1),
        ("Unable to create step for job 5: PrologSlurmctld is still running", 1),
        ("Unable to create step for job 5: Job/step already completing or completed", 0),
        ("Slurm job 5 has expired", 0),
    ],
)  # fmt: skip
def test_a_step_is_tried_again_where_the_reason_passes(errors, away):
    assert answers.not_yet(f"srun: error: {errors}\n") == bool(away)


def test_a_running_job_that_gets_no_step_is_beyond_its_limit():
    told = "srun: error: Unable to create step for job 5: Job/step already completing or completed"
    found = end(told + "\n", "RUNNING", code=1)
    assert found == ("interrupted", "Slurm job 5 on n4: its time limit was reached", True)
    assert end(told + "\n", None, code=1).ending == "launch_failed"


def test_a_command_that_ends_well_is_no_end_of_the_step():
    assert end(CANCELLED.format(""), code=0) is None


@pytest.mark.parametrize(
    ("why", "state", "ending", "reason", "over"),
    [
        (" DUE TO TIME LIMIT", "TIMEOUT", "interrupted", "its time limit was reached", True),
        (" DUE TO PREEMPTION", "PREEMPTED", "interrupted", "it was preempted", True),
        ("", "CANCELLED", "interrupted", "it was cancelled", True),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "NODE_FAIL", "interrupted",
         "a node of it failed", True),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "RUNNING", "launch_failed",
         "NODE FAILURE", False),
        ("", "RUNNING", "interrupted", "STEP 5.6 ON n4 CANCELLED", False),
        ("", "COMPLETING", "interrupted", "STEP 5.6 ON n4 CANCELLED", True),
    ],
)  # fmt: skip
def test_a_step_that_slurm_ends_has_its_ending_and_reason(why, state, ending, reason, over):
    found = end(CANCELLED.format(why), state)
    assert (found.ending, found.job_over) == (ending, over)
    assert found.reason.startswith("Slurm job 5 on n4: ")
    assert reason in found.reason


@pytest.mark.parametrize(
    "told",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=5.3. Some of the step tasks have"
        " been OOM Killed.",
        "srun: error: n4: task 0: Out Of Memory",
        "slurmstepd-n4: error: StepId=5.3 exceeded memory limit (230944768 > 104857600), being"
        " killed",
    ],
)
def test_exhausted_memory_is_a_crash_whose_words_say_so(told):
    found = end(f"srun: cluster configuration lacks support\n{told}\n", code=137)
    assert (found.ending, found.job_over) == ("crashed", False)
    assert told in found.reason
    assert next(scan(found.reason))[0] == "out_of_memory"


def test_a_step_that_srun_gave_up_did_not_end_well():
    """It exits with 0, and what the command would have answered is missing (22.05.8)."""
    killed = (
        "slurmstepd-n4: error: StepId=5.3 exceeded memory limit (230 > 104), being killed\n"
        "srun: Job step aborted: Waiting up to 5 seconds for job step to finish.\n"
        "slurmstepd-n4: error: *** STEP 5.3 ON n4 CANCELLED AT 2026-11-25T10:14:52 ***\n"
        "srun: error: Timed out waiting for job step to complete\n"
    )
    assert end(killed, code=0).ending == "crashed"
    assert end(killed.splitlines(keepends=True)[3], code=0).ending == "launch_failed"


def test_an_error_of_srun_itself_is_a_failed_launch():
    told = "srun: error: Unable to create step for job 5: Unable to contact slurm controller\n"
    found = end(told, code=1)
    assert (found.ending, found.job_over) == ("launch_failed", False)
    assert found.reason == f"Slurm job 5 on n4: {told.strip()}"


@pytest.mark.parametrize("state", ["", "CANCELLED", "COMPLETED", "TIMEOUT"])
def test_a_step_of_a_job_that_is_over_is_interrupted(state):
    told = "srun: error: Slurm job 5 has expired\n"
    found = end(told, state, code=1)
    assert (found.ending, found.job_over) == ("interrupted", True)


def test_a_job_that_is_ending_says_so_where_nothing_else_is_known():
    assert end("", "COMPLETING", code=-15).reason == "Slurm job 5 on n4: it is ending"


@pytest.mark.parametrize("state", ["SUSPENDED", "SIGNALING", "RESIZING", "STOPPED"])
def test_what_passes_does_not_end_the_job(state):
    assert not end(CANCELLED.format(""), state).job_over
    assert end("srun: error: n3: task 0: Killed\n", state, code=137) is None
    assert answers.queued(f"{state}|None|x|n1|1:00|batch|7", "7").waits


@pytest.mark.parametrize(
    ("reason", "stuck"),
    [
        *(("QOSMaxWallDurationPerJobLimit", 1), ("AssocMaxWallDurationPerJobLimit", 1)),
        *(("AssocMaxNodePerJobLimit", 1), ("QOSMaxGRESPerJob", 1), ("QOSMinGRES", 1)),
        *(("QOSMaxGRESPerNode", 1), ("AssocMaxCpuPerNode", 1), ("MaxMemPerLimit", 1)),
        *(("PartitionNodeLimit", 1), ("PartitionTimeLimit", 1), ("BadConstraints", 1)),
        # Others of the user's jobs end.
        *(("QOSMaxJobsPerUserLimit", 0), ("AssocGrpCpuLimit", 0), ("QOSMaxGRESPerUser", 0)),
        *(("Resources", 0), ("Priority", 0), ("None", 0)),
    ],
)
def test_a_job_whose_reason_does_not_pass_is_stuck(reason, stuck):
    assert answers.queued(f"PENDING|{reason}|x||1:00|batch|7", "7").stuck == bool(stuck)


def test_of_several_jobs_the_one_of_the_number_is_found():
    array = "RUNNING|None|x|n3|1:00|batch|30\nPENDING|None|x|n2|1:00|batch|31\n"
    assert answers.queued(array, "31").nodes == "n2"
    assert answers.queued(array, "32") is None


@pytest.mark.parametrize(
    ("errors", "state", "whose"),
    [
        ("srun: error: n3: task 0: Killed\n", "RUNNING", "step"),
        ("srun: error: n3: task 0: Killed\n", None, ""),
        ("srun: error: Unable to create step for job 5: x\n", "RUNNING", ""),
        (CANCELLED.format(""), "RUNNING", ""),
        ("srun: error: Slurm job 5 has expired\n", "COMPLETING", "job"),
        ("srun: error: Slurm job 5 has expired\n", "", "job"),
        ("srun: error: Slurm job 5 has expired\n", "FAILED", "job"),
        ("srun: error: Slurm job 5 has expired\n", "PREEMPTED", ""),
    ],
)
def test_slurms_records_are_read_where_its_words_say_nothing(errors, state, whose):
    assert answers.needs_record(errors, state) == whose


ACCOUNT = (
    "5|scalebench-x|CANCELLED by 2000|0:0|n[1-2]\n"
    "5.batch|batch|CANCELLED|0:15|n1\n"
    "5.1|scalebench-aa|RUNNING|0:0|n1\n"
    "5.2|scalebench-bb|NODE_FAIL|0:0|n2\n"
)


def test_the_accounting_has_the_job_and_the_step_of_a_name():
    found = answers.accounted(ACCOUNT, "5")
    assert found == ("CANCELLED by 2000", "0:0", "n[1-2]", "sacct")
    assert answers.accounted(ACCOUNT, "5", "scalebench-bb").state == "NODE_FAIL"
    # Not recorded yet.
    assert answers.accounted(ACCOUNT, "5", "scalebench-aa") is None
    assert answers.accounted(ACCOUNT, "5", "scalebench-cc") is None
    assert answers.accounted("", "5") is None


@pytest.mark.parametrize(
    ("state", "reason", "found"),
    [
        ("COMPLETING", "TimeLimit", "TIMEOUT"),
        ("COMPLETING", "NodeDown", "NODE_FAIL"),
        ("COMPLETING", "None", "COMPLETING"),
        ("FAILED", "NonZeroExitCode", "FAILED"),
    ],
)
def test_slurmctld_says_why_a_job_is_ending(state, reason, found):
    line = f"JobId=5 JobName=x JobState={state} Reason={reason} ExitCode=1:0 NodeList=n1"
    assert answers.described(line) == (found, "1:0", "n1", "scontrol")
    assert answers.described("slurm_load_jobs error: Invalid job id specified") is None


@pytest.mark.parametrize("empty", ["", " ", "\t "])
def test_an_empty_state_is_none_and_ends_nothing(empty):
    line = f"JobId=5 JobState={empty} Reason=None ExitCode=1:0 NodeList=n1"
    assert answers.described(line) is None
    assert answers.accounted(f"5|batch|{empty}|0:0|n1", "5") is None
    told = "srun: error: n1: task 0: Killed\n"
    record = answers.Recorded(empty, "0:0", "n1", "sacct")
    assert answers.end_of_step("5", "n1", 137, told, "RUNNING", record) is None
    assert answers.needs_record(told, empty) == "job"
    assert answers.end_of_step("5", "n1", 137, told, empty).reason.endswith("no longer knows it")


@pytest.mark.parametrize(
    ("state", "ending"),
    [
        *(("OUT_OF_MEMORY", "crashed"), ("NODE_FAIL", "launch_failed")),
        *(("PREEMPTED", "interrupted"), ("TIMEOUT", "interrupted"), ("FAILED", None)),
        # As 22.05.8 records a step whose task got SIGKILL from outside of Slurm.
        *(("CANCELLED", None), ("COMPLETED", None)),
    ],
)
def test_the_recorded_state_of_a_step_has_its_ending(state, ending):
    record = answers.Recorded(state, "0:9", "n4", "sacct")
    told = "srun: error: n4: task 0: Killed\n"
    found = answers.end_of_step("5", "n4", 137, told, "RUNNING", record)
    assert (found and found.ending) == ending
    if found:
        assert not found.job_over
        assert found.reason.endswith(f"sacct says {state}, exit code 0:9, on n4")
        assert ending != "crashed" or next(scan(found.reason))[0] == "out_of_memory"


def test_the_record_of_a_job_says_how_it_ended():
    record = answers.Recorded("CANCELLED by 2000", "0:0", "n[1-2]", "sacct")
    found = answers.end_of_step("5", "n4", 1, "srun: error: x\n", "", record)
    assert (found.ending, found.job_over) == ("interrupted", True)
    assert found.reason == (
        "Slurm job 5 on n4: it was cancelled: sacct says CANCELLED by 2000, exit code 0:0,"
        " on n[1-2]"
    )


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        *(("4:59", 299), ("0:07", 7), ("1:00:00", 3600), ("2-00:00:01", 172801)),
        *(("UNLIMITED", None), ("INVALID", None), ("NOT_SET", None), ("", None)),
    ],
)
def test_the_time_left_is_in_seconds_where_there_is_a_limit(left, seconds):
    assert answers.queued(f"RUNNING|None|x|n1|{left}|batch|7", "7").seconds_left == seconds
