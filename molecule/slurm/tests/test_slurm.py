"""The testbed's Slurm is one of a user without root, and its faults are real."""

import slurm_cluster as slurm
from pytest import fixture


@fixture(autouse=True)
def idle():
    """Leave four idle nodes to the next test."""
    yield
    slurm.alice("scancel --user=alice")
    for number in range(1, 5):
        slurm.wait_for(lambda name=f"node{number}": slurm.node_state(name), "idle")


def test_a_step_runs_on_each_node_and_not_on_the_login_node():
    done = slurm.alice("srun --nodes=4 hostname")
    assert sorted(done.stdout.split()) == ["node1", "node2", "node3", "node4"], done.stderr


def test_the_user_is_no_administrator():
    assert slurm.alice("sudo --non-interactive true").returncode
    assert "Permission denied" in slurm.ssh("alice@node1", "true").stderr
    assert slurm.alice("scontrol update nodename=node1 state=drain reason=mine").returncode


def test_the_home_folder_is_on_all_nodes():
    done = slurm.alice("srun --nodes=4 sh -c 'touch $HOME/on_$(hostname)'; ls $HOME")
    assert {"on_node1", "on_node4"} <= set(done.stdout.split()), done.stderr


def test_slurm_has_what_mpi_systems_need():
    assert {"pmix", "pmi2"} <= set(slurm.alice("srun --mpi=list 2>&1").stdout.split())


def test_what_no_node_can_give_is_refused():
    assert "invalid partition" in slurm.alice("sbatch --test-only -p nowhere --wrap true").stderr
    assert "Memory specification" in slurm.alice("srun --mem=99999 true").stderr


def test_a_step_above_its_memory_is_killed():
    fill = "import time; x = bytes(300 << 20).replace(b'\\0', b'1'); time.sleep(60)"
    done = slurm.alice(f'srun --mem=100 python3 -c "{fill}"')
    assert done.returncode
    assert "Exceeded job memory limit" in done.stderr


def test_a_job_ends_at_its_time_limit():
    job = slurm.submit("--time=1", "sleep 300")
    # Slurm looks at the limits twice a minute.
    slurm.wait_for(lambda: slurm.job_field(job, "JobState"), "TIMEOUT", 150)


def test_a_cancelled_step_leaves_its_job():
    job = slurm.submit("--nodes=2", "sleep 120")
    slurm.wait_for(lambda: slurm.job_field(job, "JobState"), "RUNNING")
    # A step that is cancelled before all of it runs is told in other words; so is now and then one
    # on a busy machine.
    for step in range(3):
        begun = f"$HOME/begun-{job}.{step}"
        done = slurm.alice(
            f"srun --jobid={job} --overlap sh -c 'touch {begun}-$SLURM_PROCID; sleep 50' &"
            f" until [ -e {begun}-0 ] && [ -e {begun}-1 ]; do sleep 0.1; done; sleep 1;"
            f" scancel {job}.{step}; wait $!; echo ended $?"
        )
        assert "ended 0" not in done.stdout
        assert slurm.job_field(job, "JobState") == "RUNNING"
        if "CANCELLED" in done.stderr:
            break
    assert "CANCELLED" in done.stderr


def test_an_urgent_job_ends_one_in_its_way():
    job = slurm.submit("--nodes=4 --exclusive", "sleep 60")
    slurm.wait_for(lambda: slurm.job_field(job, "JobState"), "RUNNING")
    assert slurm.alice("srun --partition=urgent --nodes=4 --exclusive true").returncode == 0
    assert slurm.job_field(job, "JobState") == "PREEMPTED"


def test_a_drained_node_gets_no_job():
    slurm.set_state("node2", "drain")
    try:
        assert slurm.node_state("node2") == "drained"
        job = slurm.submit("--nodes=4", "true")
        slurm.wait_for(lambda: slurm.job_field(job, "JobState"), "PENDING")
    finally:
        slurm.set_state("node2", "resume")
    slurm.wait_for(lambda: slurm.job_field(job, "JobState"), "COMPLETED")
