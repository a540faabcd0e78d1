"""The run record of a repeat, as ``.run.json`` beside its log holds it, and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, TypedDict, cast

from .factors import MAX, BatchSize, Factors  # noqa: F401 (BatchSize: Python 3.8)
from .plans import NEEDED, Cell, check_cell
from .shape import MEASURED, Scalar, check_plain, check_shape

__all__ = [
    "NAMES_IN_LOGS",
    "Disturbance",
    "Figures",
    "Header",
    "Identity",
    "LogEnd",
    "LogEnding",
    "LogFacts",
    "ModelFacts",
    "NodeLog",
    "NodeRun",
    "RankWaits",
    "RunRecord",
    "TimeToTrain",
    "check_cell",
    "check_run",
]


KINDS = ("measured", "search", "alone")


class LogEnding(TypedDict):
    """How a log ends; ``kind`` is complete, truncated, out_of_memory, nan_loss, traceback, killed.

    ``detail`` is the line that shows it.
    """

    kind: str
    detail: str


class TimeToTrain(TypedDict):
    """Times in s and accuracies in percent of one training; see ``facts.time_to_train``."""

    total_time: Optional[float]
    time_to_target: Optional[float]
    target_accuracy: Optional[float]
    target_epoch: Optional[int]
    best_accuracy: Optional[float]
    best_epoch: Optional[int]
    final_accuracy: Optional[float]
    evaluations: int
    epochs: Optional[int]
    end_to_end_throughput: Optional[float]


class ModelFacts(TypedDict, total=False):
    """What the header of a log states of its model, as ``models.flops`` reckons with it.

    ``embedding_parameters`` are those of a table that is looked up, and not multiplied with.
    ``size`` is the name of this size of the model, ``causal`` is false where each position attends
    to all. BERT has ``predictions`` in a sequence, each over the ``vocabulary``, and the width of
    its ``feed_forward`` layers.
    """

    name: str
    size: str
    parameters: int
    embedding_parameters: int
    layers: int
    hidden: int
    sequence_length: int
    causal: bool
    feed_forward: int
    vocabulary: int
    predictions: int


class Figures(TypedDict, total=False):
    """What a trainer measures of itself: s, bytes, FLOP/s of all devices; MFU as a share.

    ``first_step`` has the parts of the time to the end of the first step: launch, import, build,
    first_step. ``mfu`` is by convention (``models.flops.CONVENTIONS``), ``peak_flops_per_second``
    of one device. What needs a peak is None where none is known.
    """

    step_seconds_p50: float
    step_seconds_p99: float
    first_step: Dict[str, float]
    peak_memory_bytes: int
    flops_per_second: float
    mfu: Optional[Dict[str, float]]
    peak_flops_per_second: Optional[float]
    peak_source: Optional[str]


class Identity(Factors, total=False):
    """The settings that the header of a log of ours states, and which facts keep.

    Beside them stand the factors that a benchmark declares.
    """

    model: str
    architecture: ModelFacts
    parameters: int
    units_per_sample: int
    framework: str
    python: str
    world_size: int
    nodes: int
    devices_per_node: int
    device: str
    device_name: str
    backend: str
    cuda: str
    cudnn: Scalar
    nccl: Scalar
    capability: Scalar
    architectures: str
    autocast_dtype: str
    warmup: int
    iterations: int
    epochs: int
    target_accuracy: float
    images_per_epoch: int
    threads_per_rank: int


# What an identity has by other names than those of a benchmark's own factors; the last three are
# derived from other lines of a log.
NAMES_IN_LOGS = (*Identity.__annotations__, "ranks_seen", "steps_per_epoch", "steps_per_line")


# Read by names of factors, which mypy does not know.
class Header(Identity, total=False):
    """The header line of a log of ours."""

    own_factors: Dict[str, Scalar]


class _RankWaits(TypedDict):
    rank: int
    node: str
    every: int
    wait_seconds: List[float]
    step_seconds: float


class RankWaits(_RankWaits, total=False):
    """How long a rank waited for the others, s of a step: means of ``every`` steps, in their order.

    ``step_seconds`` is the median of all its steps, ``core_wait_seconds`` the mean time of a step
    in which its main thread was ready and had no core, ``input_seconds`` that in which it waited
    for its next batch.
    """

    core_wait_seconds: float
    input_seconds: float


class LogEnd(TypedDict, total=False):
    """The last line of a complete log of ours: steps, s, MiB, checksum of the weights."""

    iterations: int
    seconds: float
    peak_memory_mib: float
    weights_checksum: str
    weights_equal: bool
    figures: Figures


if TYPE_CHECKING:
    Stated = Dict[str, Any]
else:
    Stated = Identity


class Strategy(TypedDict):
    """The rule by which a log was read, with all its parameters."""

    name: str
    parameters: Dict[str, Any]


class Message(TypedDict):
    """What a log of collective operations moves at once, and the mean duration of that.

    ``bytes`` as nccl-tests counts them; ``busbw_factor``: bus bandwidth over algorithm bandwidth.
    ``backend`` is the library, as nccl or gloo; None where the log does not tell it.
    """

    collective: str
    bytes: int
    busbw_factor: float
    seconds: float
    backend: Optional[str]


class LogFacts(TypedDict, total=False):
    """The facts of one log (``facts.log_facts``); speeds are in ``unit``, memory in MiB."""

    path: str
    reader: str
    identity: Stated
    ending: LogEnding
    throughput: Optional[float]
    unit: str
    scope: str
    strategy: Strategy
    count: int
    steps: Optional[int]
    printed: int
    run: Optional[int]
    runs: int
    valid: bool
    reason: str
    summary: Dict[str, Any]
    waits: List[RankWaits]
    message: Message
    wall_clock_throughput: Optional[float]
    harmonic_throughput: Optional[float]
    loss: Optional[Dict[str, float]]
    memory: Optional[float]
    steady_state: Dict[str, Any]
    within_run: Dict[str, Any]
    time_to_train: Optional[TimeToTrain]
    accuracy: Optional[float]
    observations: List[Any]


class Gauge(TypedDict):
    """A series of samples, in the unit of what was sampled."""

    min: float
    mean: float
    max: float


class _Cpu(TypedDict):
    own_seconds: float


class Cpu(_Cpu, total=False):
    """CPU seconds of a node during a repeat; ``cores`` is the number of its CPUs."""

    cores: int
    busy_seconds: float
    steal_seconds: float


class Load(TypedDict, total=False):
    """Processes that run or wait to, mean of a minute; ``before`` the repeat."""

    before: float


class Link(TypedDict, total=False):
    """What went over an interface, and how often it failed."""

    received_mib: float
    sent_mib: float
    errors: float
    link_downed: float


class _GpuSummary(TypedDict):
    index: int


class GpuSummary(_GpuSummary, total=False):
    """The gauges of a GPU; ``throttle`` has by reason the share of the samples.

    ``ecc_uncorrected`` is the number of errors, ``xid`` has the codes of others.
    """

    utilisation: Gauge
    sm_clock_mhz: Gauge
    power_w: Gauge
    temperature_c: Gauge
    memory_used_mib: Gauge
    throttle: Dict[str, float]
    ecc_uncorrected: int
    xid: List[int]


class _NodeTelemetry(TypedDict):
    seconds: float
    cpu: Cpu


class NodeTelemetry(_NodeTelemetry, total=False):
    """Those figures of ``telemetry.Telemetry`` that are read: by results, and for disturbances.

    ``gpu`` is ``not sampled: `` and why, where the GPUs were not.
    """

    load: Load
    memory_used_mib: Gauge
    memory_stall_seconds: float
    swapped_in_mib: float
    cpu_throttle_events: float
    longest_pause_seconds: float
    network: Dict[str, Link]
    infiniband: Dict[str, Link]
    gpus: List[GpuSummary]
    gpu: str


class NodeLog(TypedDict, total=False):
    """A run's log on its node: its path there, and its content (``node.runs.packed``)."""

    log: Optional[str]
    packed_log: Optional[str]


class NodeRun(TypedDict, total=False):
    """What a record keeps of the result of module training_run on one node.

    What the node did not tell is None. ``ended`` and ``strays`` are numbers of processes,
    ``transport`` is what connects its ranks to each other and to those of other nodes
    (``telemetry.nccl``).
    """

    rank: Optional[int]
    argv: Optional[List[str]]
    env: Optional[Dict[str, str]]
    started: Optional[str]
    node: Optional[str]
    exit_code: Optional[int]
    ending: str
    reason: str
    seconds: Optional[float]
    ended: Optional[int]
    strays: Optional[int]
    telemetry: Optional[NodeTelemetry]
    memory_mib: Optional[int]
    device_users: Optional[List[str]]
    transport: Optional[List[str]]


class Disturbance(TypedDict):
    """Something else that took part in a repeat, on which node."""

    kind: str
    node: str
    detail: str


class _Run(TypedDict):
    cell: Cell
    repeat: int
    log: str
    ending: str
    reason: str
    facts: Optional[LogFacts]


class RunRecord(_Run, total=False):
    """One repeat, or one attempt at it.

    ``ending`` is one of ``endings.ENDINGS``, ``kind`` one of :data:`KINDS`: a search is for the
    largest batch, alone is a packed repeat run again by itself. Records of schema 1 have the first
    six keys only, logs that no campaign made also ``warnings``.
    """

    schema: int
    campaign: str
    session: str
    recorded: str
    attempt: int
    kind: str
    why: str
    warnings: List[str]
    packed_with: List[str]
    shares_machine: bool
    oversubscribed: Optional[bool]
    started: Optional[str]
    memory_mib: Optional[int]
    seconds: float
    disturbances: List[Disturbance]
    nodes: Dict[str, NodeRun]
    # Set on reading, where the log is not there any more.
    log_is_gone: bool


def check_run(data: Any, log: str) -> RunRecord:
    """Return a run record of any schema as it was read.

    :param log: the path of its log in the campaign; the one in the record may be of another place.
    :raises ValueError: it is damaged.
    """
    try:
        repeat = int(data["repeat"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("it has no repeat with a whole number") from None
    record = {**data, "repeat": repeat}
    needed = {RunRecord: ("cell", "repeat"), Cell: NEEDED, LogFacts: ("throughput",), Identity: ()}
    check_shape(record, RunRecord, "record", needed)
    check_plain(record, largest=MEASURED)
    check_cell(record["cell"])
    kind = record.get("kind", KINDS[0])
    if kind not in KINDS:
        raise ValueError(f"its kind is {kind!r:.80}, not one of {', '.join(KINDS)}")
    if kind == "search" and record["cell"]["batch_size_per_device"] == MAX:
        raise ValueError("a search without the batch size that it tried")
    defaults = {"ending": "invalid", "reason": ""}
    return cast(
        RunRecord,
        {
            **record,
            **{key: record.get(key) or value for key, value in defaults.items()},
            "log": log,
            "facts": record.get("facts") or None,
        },
    )
