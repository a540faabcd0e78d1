"""What results.json holds: the results of a campaign, its measured cells and their repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, TypedDict

from .factors import BatchSize, Factors  # noqa: F401 (BatchSize: Python 3.8)
from .plans import Continued, Fingerprint, ModelData, Options, VariantsGiven
from .runs import Disturbance, Figures, LogEnding, Message, RankWaits, TimeToTrain
from .shape import Scalar

__all__ = [
    "Adaptive",
    "Attempt",
    "CollectiveGroup",
    "Collectives",
    "Elapsed",
    "Finding",
    "Hockney",
    "Interval",
    "LogFigures",
    "MeasuredCell",
    "MessageTime",
    "Prediction",
    "PredictionGroup",
    "Predictions",
    "Repeat",
    "Results",
    "SerialShare",
    "StepCell",
    "StepGroup",
    "StepParts",
    "StrongCell",
    "StrongGroup",
    "StrongScaling",
    "WithoutSpeed",
]


class Attempt(TypedDict):
    """An earlier attempt at a repeat."""

    ending: str
    reason: str
    throughput: Optional[float]
    disturbances: List[Disturbance]


class LogFigures(TypedDict, total=False):
    """What a repeat keeps of the facts of its log; absent where the log does not state it."""

    unit: str
    reader: str
    count: int
    wall_clock_throughput: float
    elapsed_throughput: float
    loss: Dict[str, float]
    memory: float
    accuracy: float
    time_to_train: TimeToTrain
    parameters: int
    steady_state: Dict[str, Any]
    within_run: Dict[str, Any]
    loss_scaling: str
    strategy: str
    conditions: Dict[str, Any]
    figures: Figures
    waits: List[RankWaits]
    message: Message


class _Repeat(TypedDict):
    repeat: int
    log: str
    ending: str
    reason: str
    throughput: Optional[float]
    seconds: Optional[float]
    oversubscribed: Optional[bool]
    node_names: Optional[List[str]]
    attempt: int
    earlier: List[Attempt]
    disturbances: List[Disturbance]
    packed_with: List[str]
    shares_machine: bool
    transport: List[str]
    telemetry: Optional[Dict[str, Any]]
    warnings: List[str]


class Repeat(_Repeat, LogFigures, total=False):
    """One repeat of a measured cell.

    ``throughput`` (in ``unit``) is None where ``ending`` is not ok, and ``reason`` says why.
    ``log_ending`` is absent where the log is complete, ``recorded`` (when it ended, ISO 8601, UTC)
    where the record does not tell, as in schema 1.
    """

    log_ending: LogEnding
    recorded: str


class WithoutSpeed(TypedDict):
    """A repeat that gave no speed."""

    repeat: int
    ending: str
    reason: str
    log: str


class Finding(TypedDict):
    """What a check of ``results.checks`` says about a cell."""

    rule: str
    detail: str


class _Interval(TypedDict):
    low: Optional[float]
    high: Optional[float]
    n: int
    reason: str


class Interval(_Interval, total=False):
    """An interval of a median or of a quotient of medians; None where there is too little data."""

    level: float
    coverage: Optional[float]


class Elapsed(TypedDict, total=False):
    """The figures of a cell by ``elapsed_throughput``, under the names of those by the rule.

    A speed-up is absent where 1n1g does not have that throughput.
    """

    median_speed: float
    speedup: float
    efficiency: float
    speedup_interval: Interval


class Spread(TypedDict, total=False):
    """How the speeds of the repeats differ; ``cv`` is None of a single one."""

    n: int
    cv: Optional[float]
    minimum: float
    maximum: float


class Adaptive(TypedDict):
    """Whether a cell has enough repeats, after ``n`` with a speed.

    ``half_width`` is a share of the median, None where there is no interval yet; ``why`` is for
    the report.
    """

    enough: bool
    n: int
    half_width: Optional[float]
    why: str


class _PlannedPart(Factors):
    benchmark: str
    recipe: Optional[str]
    framework: Optional[str]
    framework_set: Optional[str]
    model: str
    variant: str
    topology: str
    nodes: int
    devices_per_node: int
    device: Optional[str]
    node_names: Optional[List[str]]
    directory: Optional[str]
    warmup: Optional[int]
    iterations: Optional[int]
    epochs: Optional[int]
    target_accuracy: Optional[float]


class MeasuredCell(_PlannedPart, total=False):
    """A cell with the figures of its repeats; every key is there once the results are built.

    ``batch_size_per_device`` is the text ``max`` where a search has not found it. ``failures``
    is one of ``endings.groups()``; the lists of the others stand beside it under their names.
    """

    own_factors: Dict[str, Scalar]
    units_per_sample: int
    no_speedup: str
    model_data: ModelData
    loss_scaling: str
    transport: str
    devices: int
    state: str
    unit: Optional[str]
    repeats_planned: int
    repeats: List[Repeat]
    spread: Optional[Spread]
    interval: Optional[Interval]
    wall_clock_throughput: Optional[float]
    oversubscribed: Optional[bool]
    figures: Optional[Figures]
    failures: List[WithoutSpeed]
    not_run: List[int]
    adaptive: Optional[Adaptive]
    unfinished: List[Dict[str, Any]]
    average_speed: Optional[float]
    median_speed: Optional[float]
    speedup: Optional[float]
    speedup_reason: str
    speedup_interval: Optional[Interval]
    efficiency: Optional[float]
    elapsed: Optional[Elapsed]
    invalid: List[Finding]
    warnings: List[Finding]


class AppliedStrategy(TypedDict, total=False):
    """A rule from a log to its throughput: in words, and what differs from its defaults."""

    name: str
    parameters: Dict[str, Any]
    about: str
    changed: Dict[str, Any]


class Provenance(TypedDict, total=False):
    """Where the figures come from: rules, logs and the plan's own origin."""

    strategies: List[AppliedStrategy]
    rules: Dict[str, str]
    checks: Dict[str, Dict[str, str]]
    baseline: str
    readers: List[str]
    trainers: List[Dict[str, Any]]
    created: str
    options: Options
    controller: Dict[str, Any]
    sha256: str
    nodes: Dict[str, Fingerprint]
    variants: VariantsGiven
    seed: str
    continued: List[Continued]
    other_trainers: List[str]
    carrier: str


if TYPE_CHECKING:
    Origin = Dict[str, Any]
else:
    Origin = Provenance


class TreatmentCell(TypedDict):
    """A cell of a variant against that of the first (``comparison.treatments``)."""

    benchmark: str
    precision: str
    variant: str
    model: str
    topology: str
    treatment: str
    against: str
    unit: Optional[str]
    speed: Optional[float]
    reference_speed: Optional[float]
    rounds: int
    without_pair: List[int]
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    standard_error: Optional[float]
    degrees_of_freedom: Optional[float]
    p_difference: Optional[float]
    p_signed_rank: Optional[float]
    p_equivalence: Optional[float]
    finding: str
    why: str


class Treatments(TypedDict):
    """The comparison of the variants of a campaign."""

    margin: float
    level: float
    seed: Optional[str]
    variants: VariantsGiven
    cells: List[TreatmentCell]


class StrongCell(TypedDict):
    """A measured cell of strong scaling: the time of a step in seconds, and its serial share.

    What needs the topology that the group is relative to is None without it; ``karp_flatt`` of
    that topology too.
    """

    topology: str
    devices: int
    batch_size_per_device: int
    step_seconds: float
    ideal_step_seconds: Optional[float]
    karp_flatt: Optional[float]


class SerialShare(TypedDict):
    """The serial share by Amdahl's law, of the time on the smallest topology; None if unknown."""

    share: Optional[float]
    low: Optional[float]
    high: Optional[float]
    n: int
    reason: str


class StrongGroup(TypedDict):
    """Cells of strong scaling that differ in topology alone, relative to ``base``."""

    benchmark: str
    precision: str
    variant: str
    model: str
    global_batch_size: Optional[int]
    base: str
    cells: List[StrongCell]
    serial_share: SerialShare


class StrongScaling(TypedDict):
    """The times of a step of all groups of strong scaling; ``level`` of the intervals."""

    level: float
    groups: List[StrongGroup]


class Hockney(TypedDict):
    """t = latency + bytes / bandwidth, fitted; see ``stats.laws``.

    Errors are standard errors, of ``freedom`` degrees of freedom. What is not known is None, and
    ``reason`` says why, or that the law does not hold.
    """

    latency_seconds: Optional[float]
    latency_error: Optional[float]
    latency_low: Optional[float]
    latency_high: Optional[float]
    seconds_per_byte: Optional[float]
    seconds_per_byte_error: Optional[float]
    covariance: Optional[float]
    freedom: int
    bytes_per_second: Optional[float]
    bytes_per_second_low: Optional[float]
    bytes_per_second_high: Optional[float]
    holds: bool
    worst_bytes: Optional[int]
    worst: Optional[float]
    n: int
    reason: str


class MessageTime(TypedDict):
    """The median duration of an operation on messages of ``bytes``, of ``n`` repeats."""

    bytes: int
    seconds: float
    n: int


class CollectiveGroup(TypedDict):
    """Cells of one operation on one topology, that differ in the size of the message alone.

    ``line_rate``: of the slowest node, in MB/s; None where it is not known.
    """

    benchmark: str
    precision: str
    variant: str
    topology: str
    devices: int
    collective: str
    busbw_factor: float
    line_rate: Optional[float]
    sizes: List[MessageTime]
    fit: Hockney


class Collectives(TypedDict):
    """The durations of collective operations over the sizes; ``level`` of the intervals."""

    level: float
    groups: List[CollectiveGroup]


class StepCell(TypedDict):
    """A step on several devices and its parts, in seconds, None where one was not measured.

    ``step_seconds`` is the sum of the parts from ``compute_seconds`` to ``unexplained_seconds``,
    None taken as 0; see ``results.step_parts``. ``one_device_seconds`` is the step on one device
    with the same batch per device, ``all_reduce_error`` a standard error, ``cores`` those of all
    machines together.
    """

    topology: str
    devices: int
    batch_size_per_device: int
    oversubscribed: bool
    cores: Optional[int]
    step_seconds: float
    speedup: float
    one_device_seconds: Optional[float]
    compute_seconds: float
    small_batch_seconds: Optional[float]
    input_seconds: Optional[float]
    exchange_seconds: Optional[float]
    imbalance_seconds: Optional[float]
    core_wait_seconds: Optional[float]
    unexplained_seconds: Optional[float]
    all_reduce_seconds: Optional[float]
    all_reduce_error: Optional[float]
    hidden_seconds: Optional[float]


class StepGroup(TypedDict):
    """Cells that differ in topology alone; ``gradient_bytes`` are reduced in each step."""

    benchmark: str
    precision: str
    variant: str
    model: str
    scaling: str
    gradient_bytes: Optional[int]
    cells: List[StepCell]


class StepParts(TypedDict):
    """What the steps on several devices are made of."""

    groups: List[StepGroup]


class Prediction(TypedDict):
    """The predicted step of a topology, from the ``steps`` and all-reduces (``network``) of others.

    ``kind`` is ``parts``, ``left_out`` or ``asked``, see ``results.prediction``. ``samples`` are of
    a step of all devices, in what the throughput counts. ``error`` is
    predicted / measured - 1 of the speed-up. What is not known is None, and ``reason`` says why.
    """

    kind: str
    topology: str
    devices: int
    steps: List[str]
    network: List[str]
    oversubscribed: bool
    samples: float
    step_seconds: Optional[float]
    step_low: Optional[float]
    step_high: Optional[float]
    speedup: Optional[float]
    measured_speedup: Optional[float]
    error: Optional[float]
    reason: str


class PredictionGroup(TypedDict):
    """Predictions of cells that differ in topology alone; ``unit`` is that of the throughput."""

    benchmark: str
    precision: str
    variant: str
    model: str
    scaling: str
    gradient_bytes: int
    unit: Optional[str]
    rows: List[Prediction]


class Predictions(TypedDict):
    """Predicted steps; ``level`` of the intervals."""

    level: float
    groups: List[PredictionGroup]


class _Results(TypedDict):
    schema: int
    campaign: Optional[str]
    facts: Dict[str, Any]
    units: Dict[str, str]
    provenance: Origin
    counts: Dict[str, int]
    cells: List[MeasuredCell]
    searches: List[Dict[str, Any]]
    packing: Optional[Dict[str, Any]]
    interference: Optional[Dict[str, Any]]
    failures: List[Dict[str, Any]]
    unmatched: List[Dict[str, str]]


class Results(_Results, total=False):
    """Everything in results.json, in the current schema (docs/results-files.md).

    The optional keys are added by the code that computes them, if requested.
    """

    published: Dict[str, Any]
    comparison: Dict[str, Any]
    treatments: Treatments
    bisection: Dict[str, Any]
    preflight: Dict[str, Any]
    drift: Dict[str, Any]
    strong_scaling: StrongScaling
    collectives: Collectives
    step_parts: StepParts
    predictions: Predictions
    gate: Dict[str, Any]
    acceptance: Dict[str, Any]
