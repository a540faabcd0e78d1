"""What Slurm's programs answer: jobs and nodes, and why a step ended.

Formats: SchedMD/slurm 284c3b95f08a, src/api/job_info.c and node_info.c (``scontrol --oneliner``),
src/slurmd/slurmstepd/req.c (why a step is cancelled), src/api/step_launch.c (a lost node),
src/srun/launch.c and allocate.c (how a task ended, a step that is not created),
src/plugins/task/cgroup/task_cgroup_memory.c (exhausted memory); and as Slurm 22.05.8 prints them.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

__all__ = [
    "Queued",
    "Recorded",
    "SlurmNode",
    "StepEnd",
    "accounted",
    "described",
    "end_of_step",
    "fields",
    "gpus_among",
    "is_over",
    "limits_of_time",
    "needs_record",
    "needs_state",
    "nodes",
    "not_yet",
    "queued",
    "tried",
    "tried_partition",
    "waiting_text",
]

# States in which a job has its nodes or will get them: squeue(1), JOB STATE CODES.
WAITING = (
    *("PENDING", "CONFIGURING", "SUSPENDED", "REQUEUED"),
    # What is done to it passes.
    *("SIGNALING", "RESIZING", "STOPPED"),
)
RUNNING = "RUNNING"
# Reasons of a waiting job that do not pass by themselves: squeue(1), JOB REASON CODES.
_STUCK = re.compile(
    "DependencyNeverSatisfied|BadConstraints|JobHeldAdmin|InvalidAccount|InvalidQOS"
    "|Partition(Time|Node)Limit"
    # What one job may ask for, not what all jobs of a user have by now.
    r"|(Assoc|QOS)Max\w+Per(Job|Node)(Limit)?|MaxMemPerLimit|QOSMin\w+"
)
# How a job that has ended did, in words.
STATES = {
    "TIMEOUT": "its time limit was reached",
    "PREEMPTED": "it was preempted",
    "NODE_FAIL": "a node of it failed",
    "CANCELLED": "it was cancelled",
    "OUT_OF_MEMORY": "it ran out of memory",
    "DEADLINE": "its deadline was reached",
    "COMPLETING": "it is ending",
}
# The state of a step in Slurm's accounting, and our ending: sacct(1), JOB STATE CODES. A step that
# FAILED ended by itself. One whose task was killed by anybody is CANCELLED too, since srun ends it
# then (--kill-on-bad-exit); that Slurm cancelled it say the words of slurmstepd.
_STEP_STATES = {
    "OUT_OF_MEMORY": "crashed",
    "NODE_FAIL": "launch_failed",
    **dict.fromkeys(("DEADLINE", "PREEMPTED", "TIMEOUT"), "interrupted"),
}
# Why a job ends, while its state is only that it does: scontrol(1), Reason.
_REASON_STATES = {"TimeLimit": "TIMEOUT", "NodeDown": "NODE_FAIL", "OutOfMemory": "OUT_OF_MEMORY"}
# What slurmstepd and srun print of a step that did not end by itself: (words, ending). A crash
# becomes out_of_memory by its words, as everywhere: logs._ending.
_CAUSES = (
    (re.compile(r"DUE TO TIME LIMIT"), "interrupted"),
    (re.compile(r"DUE TO PREEMPTION"), "interrupted"),
    (re.compile(r"DUE TO NODE FAILURE|Node failure on "), "launch_failed"),
    (re.compile(r"oom[_-]kill|task \d+: Out Of Memory|exceeded memory limit"), "crashed"),
    (re.compile(r"STEP \S+ ON \S+ CANCELLED AT"), "interrupted"),
)
# srun says how its task ended; by this line the exit code is the command's, whatever else it says.
_EXITED = re.compile(r"^srun: error: \S+: tasks? [\d,-]+: Exited with exit code \d", re.MULTILINE)
_SPOKE = re.compile(r"^(?:srun|slurmstepd\S*): ", re.MULTILINE)
# srun's own errors; "srun: error: n1: task 0: Killed" is the command's.
_OWN_ERROR = re.compile(r"^srun: (?:error|fatal): (?!\S+: tasks? [\d,-]+: )", re.MULTILINE)
# srun gave up a step that was to end, and exits with 0 where no task's exit code came (22.05.8).
_GIVEN_UP = re.compile(r"^srun: error: Timed out waiting for job step to complete", re.MULTILINE)
# No task was started, because slurmctld did not answer or could not create a step now: the same
# line may be tried again. After its restart it counts memory of steps of before, until they have
# ended (22.05.8), although a step of ours takes none (--mem=0). "Disabled" it is while the job is
# suspended.
_NOT_YET = re.compile(
    r"^srun: error: Unable to (?:create step for|confirm allocation for) job \S+: "
    r"(?:Unable to contact slurm controller|Socket timed out|Connection refused|"
    r"Zero Bytes were transmitted|Transport endpoint is not connected|"
    r"Memory required by task is not available|"
    r"Requested nodes are busy|Requested operation is presently disabled|"
    r"PrologSlurmctld is still running|Required ports are in use)",
    re.MULTILINE,
)
# Slurm looks at time limits twice a minute. Until then a job beyond its limit is RUNNING, and gets
# no step (ESLURM_ALREADY_DONE; seen with 22.05.8).
_DONE = re.compile(
    r"^srun: error: Unable to create step for job \S+: Job/step already completing or completed",
    re.MULTILINE,
)


# Of a size that int() takes: digits of other scripts and thousands of digits are no answer.
_NUMBER = re.compile(r"[0-9]{1,15}")
_TIME = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{2})")


class Queued(NamedTuple):
    """A job's place: state, why it waits, expected start, nodes, time left, partition, its number.

    The number is the one by which srun knows it, also for a job of an array.
    """

    state: str
    reason: str
    start: str
    nodes: str
    left: str
    partition: str
    number: str

    @property
    def waits(self) -> bool:
        """Return whether the job may still get its nodes."""
        return self.state in WAITING

    @property
    def seconds_left(self) -> Optional[int]:
        """Return the seconds until its time limit; None where it has none."""
        return _seconds(self.left)

    @property
    def stuck(self) -> bool:
        """Return whether the job waits for what does not come by itself."""
        return self.waits and bool(_STUCK.fullmatch(self.reason))

    @property
    def runs(self) -> bool:
        """Return whether the job has its nodes."""
        return self.state == RUNNING


class SlurmNode(NamedTuple):
    """What Slurm knows of a node; ``gpus`` by its configuration, ``memory_mib`` in MiB."""

    name: str
    address: str
    cpus: int
    gpus: int
    memory_mib: int
    state: str


class StepEnd(NamedTuple):
    """Why a step ended: one of our endings, the reason, and whether the whole job is over."""

    ending: str
    reason: str
    job_over: bool


class Recorded(NamedTuple):
    """How Slurm has recorded a job or a step: state, exit code (``code:signal``), nodes, source."""

    state: str
    exit_code: str
    nodes: str
    source: str

    def __str__(self) -> str:
        """Return the record in words."""
        return f"{self.source} says {self.state}, exit code {self.exit_code}, on {self.nodes}"


def queued(answer: str, job: str) -> Optional[Queued]:
    """Return a job of an answer to ``commands.in_queue``; None if Slurm has forgotten it.

    :param answer: it has the other jobs of an array or of a heterogeneous job too.
    """
    rows = [line.split("|") for line in answer.splitlines()]
    found = (Queued(*row) for row in rows if len(row) == len(Queued._fields))
    return next((one for one in found if one.number == job), None)


def accounted(answer: str, job: str, step: str = "") -> Optional[Recorded]:
    """Return the record of an answer to ``commands.account``; None if there is none yet.

    :param step: the name of a step; empty for the job itself.
    """
    for line in answer.splitlines():
        row = line.split("|")
        # Running ones are recorded as such at first.
        found = len(row) == 5 and row[1 if step else 0] == (step or job)
        if found and _first(row[2]) not in ("", RUNNING):
            return Recorded(row[2], row[3], row[4], "sacct")
    return None


def described(answer: str) -> Optional[Recorded]:
    """Return the record of an answer to ``commands.describe_job``; None if it is forgotten."""
    known = fields(answer)
    state = known.get("JobState", "")
    if not state:
        return None
    if state == "COMPLETING":
        state = _REASON_STATES.get(known.get("Reason", ""), state)
    return Recorded(state, known.get("ExitCode", ""), known.get("NodeList", ""), "scontrol")


def waiting_text(job: str, found: Queued, pending: Sequence[str]) -> str:
    """Return where a job is in the queue, why it waits, and when it is expected to start.

    :param pending: the jobs that wait in its partition, those of highest priority first.
    """
    words = [f"Slurm job {job} waits"]
    if job in pending:
        # Of other users' jobs it may show none (PrivateData).
        place = f"number {pending.index(job) + 1} of {len(pending)} waiting jobs that squeue shows"
        words.append(f"{place} of partition {found.partition}")
    if found.reason not in ("None", ""):
        words.append(f"reason {found.reason}")
    if found.start not in ("N/A", ""):
        words.append(f"expected to start at {found.start}")
    return ", ".join(words)


def tried(answer: str) -> str:
    """Return the nodes that ``sbatch --test-only`` would choose, in Slurm's form, or nothing."""
    match = re.search(r" on nodes (\S+) in partition ", answer)
    return match[1] if match else ""


def tried_partition(answer: str) -> str:
    """Return the partition that ``sbatch --test-only`` would choose, or nothing."""
    match = re.search(r" on nodes \S+ in partition (\S+)", answer)
    return match[1] if match else ""


def limits_of_time(answer: str) -> Tuple[Optional[int], Optional[int]]:
    """Return a partition's time limits in minutes: of jobs that ask for none, and the longest.

    None where there is none: jobs that ask for none have the longest then.

    :param answer: to ``commands.describe_partition``.
    """
    found = fields(answer)
    default, longest = (_seconds(found.get(name, "")) for name in ("DefaultTime", "MaxTime"))
    return default and default // 60, longest and longest // 60


def _seconds(text: str) -> Optional[int]:
    """Return a time in seconds; None for none, as UNLIMITED, and for what is no time.

    squeue(1), %L: days-hours:minutes:seconds, from the left as far as needed.
    """
    match = _TIME.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def fields(line: str) -> Dict[str, str]:
    """Return the fields of a line of ``scontrol --oneliner``: ``NodeName=n1 Arch=x86_64 ...``.

    A value with blanks (``OS=Linux 6.1``) goes up to the next name. Of a name that is there twice
    the first counts: what people write, as a node's ``Reason``, stands behind.
    """
    found: Dict[str, str] = {}
    for match in re.finditer(r"(?:^|(?<=\s))([A-Za-z][\w/:]*)=(.*?)(?=\s[A-Za-z][\w/:]*=|$)", line):
        found.setdefault(match[1], match[2].strip())
    return found


def nodes(answer: str) -> List[SlurmNode]:
    """Return the nodes of an answer to ``commands.describe_nodes``."""
    found = []
    for line in answer.splitlines():
        known = fields(line)
        if "NodeName" in known:
            found.append(
                SlurmNode(
                    known["NodeName"],
                    known.get("NodeAddr") or known["NodeName"],
                    _number(known.get("CPUTot")),
                    gpus_among(known.get("Gres", "")),
                    _number(known.get("RealMemory")),
                    known.get("State", ""),
                )
            )
    return found


def _number(text: Optional[str], otherwise: int = 0) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else otherwise


def gpus_among(gres: str) -> int:
    """Return the GPUs among generic resources: ``gpu:8``, ``gpu:h100:8(S:0-1)``, ``gpu``."""
    total = 0
    for entry in re.sub(r"\([^)]*\)", "", gres).split(","):
        parts = entry.split(":")
        if parts[0] == "gpu":
            total += _number(parts[-1], otherwise=1)
    return total


def not_yet(errors: str) -> bool:
    """Return whether srun started nothing for a reason that passes, by its standard error."""
    return bool(_NOT_YET.search(errors))


def needs_state(exit_code: int, errors: str) -> bool:
    """Return whether the job's state is needed to say why a step ended.

    :param exit_code: of srun; below 0 if a signal ended srun.
    :param errors: what srun wrote to standard error.
    """
    if exit_code == 0:
        return bool(_GIVEN_UP.search(errors))
    if _EXITED.search(errors) and not _cause(errors):
        return False
    return exit_code < 0 or bool(_SPOKE.search(errors))


def needs_record(errors: str, state: Optional[str]) -> str:
    """Return whose record says why a step ended: ``job``, ``step``, or neither, where words do.

    :param errors: what srun wrote to standard error.
    :param state: as for :func:`end_of_step`.
    """
    if state is None or _cause(errors) or (state == RUNNING and _DONE.search(errors)):
        return ""
    if is_over(state):
        known = _first(state)
        return "" if known in STATES and known != "COMPLETING" else "job"
    return "" if _OWN_ERROR.search(errors) else "step"


def _first(state: str) -> str:
    """Return a state without what stands behind it, as ``CANCELLED by 1000``; empty of none."""
    return state.split(maxsplit=1)[0] if state.strip() else ""


def is_over(state: str) -> bool:
    """Return whether a job in this state ends or has ended; an empty one is forgotten."""
    return state != RUNNING and state not in WAITING


def _cause(errors: str) -> Optional[Tuple[str, str]]:
    """Return the ending and the line of what Slurm says it did; None if it says nothing."""
    lines = [line.strip() for line in errors.splitlines()]
    found = (
        (ending, line) for pattern, ending in _CAUSES for line in lines if pattern.search(line)
    )
    return next(found, None)


def end_of_step(
    job: str,
    node: str,
    exit_code: int,
    errors: str,
    state: Optional[str],
    record: Optional[Recorded] = None,
) -> Optional[StepEnd]:
    """Return why a step ended if Slurm ended it or could not start it; None if its command did.

    :param exit_code: of srun.
    :param errors: what srun wrote to standard error.
    :param state: of the job as ``JobState`` or ``squeue`` gives it; empty if Slurm has forgotten
        the job; None if Slurm does not answer, and then the words alone count.
    :param record: what :func:`needs_record` asked for, where Slurm has it.
    """
    if not needs_state(exit_code, errors):
        return None
    if state == RUNNING and _DONE.search(errors):
        state = "TIMEOUT"
    state = RUNNING if state is None else state
    over = is_over(state)
    cause = _cause(errors)
    if cause:
        return _ended(job, node, *cause, state, over)
    if over:
        state = record.state if record else state
        return _ended(job, node, "interrupted", str(record or ""), state, over)
    own = _OWN_ERROR.search(errors)
    if own:
        told = errors[own.start() :].splitlines()[0]
        # MaxStepCount: another job can start steps again (ESLURM_STEP_LIMIT).
        full = "Step limit reached" in told
        words = f"Slurm job {job} on {node}: {told}"
        return StepEnd("interrupted" if full else "launch_failed", words, full)
    ending = _STEP_STATES.get(_first(record.state)) if record else None
    return _ended(job, node, ending, str(record), state, over) if ending else None


def _ended(job: str, node: str, ending: str, told: str, state: str, over: bool) -> StepEnd:
    known = _first(state)
    why = STATES.get(known, state.lower()) if known else "Slurm no longer knows it"
    words = [f"Slurm job {job} on {node}"]
    if over:
        words.append(why)
    # A crash by these causes is exhausted memory; the words by which readers know it.
    words += ["out of memory"] if ending == "crashed" else []
    words += [told] if told else []
    # A job that is over takes the repeat with it, whatever the last words of the step are.
    return StepEnd(
        "interrupted" if over and ending != "crashed" else ending, ": ".join(words), over
    )
