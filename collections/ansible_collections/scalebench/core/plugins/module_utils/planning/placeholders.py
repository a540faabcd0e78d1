"""What words of a benchmark file may name in braces, and the values of these names."""

from __future__ import annotations

import string
from typing import Any, Dict, Iterable, List, Mapping, Set

from ..records.factors import factor_names, factor_values
from ..records.plans import Cell, Nodes

__all__ = ["DERIVED", "PLACEHOLDERS", "check_placeholders", "fields", "values_for"]

_OF_CELL = (
    *("warmup", "iterations", "device", "topology", "nodes", "devices_per_node"),
    *("epochs", "target_accuracy"),
)
_OF_NODE = ("address", "interface", "data_dir", "workload_dir", "threads")
# Computed from the others, because benchmark files do no arithmetic.
DERIVED = (
    *("total_iterations", "world_size", "batch_size_per_node", "global_batch_size", "node_rank"),
    *("python", "leading_address", "node_addresses", "rank_port", "gpu_indices", "local_ranks"),
    *("total_samples", "scaled_learning_rate", "sources_dir", "workers", "node_endpoints"),
    *("node_learning_rate", "tokens_per_device"),
    # The name of total_samples in version 0.1.
    "total_images",
)
# The factor that turns a batch of sequences into tokens.
_LENGTH = "sequence_length"
# The learning rate of NVIDIA/DeepLearningExamples and its batch size.
_LEARNING_RATE, _ITS_BATCH = 0.256, 256
PLACEHOLDERS = frozenset((*factor_names(), *_OF_CELL, *_OF_NODE, *DERIVED))


def values_for(cell: Cell, nodes: Nodes, name: str, more: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the value of every placeholder for node ``name`` of a cell.

    :param more: ``python``, ``rank_port``, ``gpu_indices``, ``workers``, ``node_addresses`` and
        ``node_endpoints``.
    """
    batch, per_node = cell["batch_size_per_device"], cell["devices_per_node"]
    ranks = cell["nodes"] * per_node
    # A training to a target has no number of iterations.
    iterations = cell["warmup"] + (cell["iterations"] or 0)

    def times(factor: float) -> Any:
        # A batch size that is still searched is a word.
        return batch * factor if isinstance(batch, int) else batch

    factors = factor_values(cell)
    return {
        **factors,
        **{key: cell.get(key) for key in _OF_CELL},
        **{key: value for key, value in nodes[name].items() if key in _OF_NODE},
        **more,
        "total_iterations": iterations,
        **dict.fromkeys(("total_samples", "total_images"), times(ranks * iterations)),
        # The linear scaling rule of Goyal et al. 2017, "Accurate, Large Minibatch SGD".
        "scaled_learning_rate": times(ranks * _LEARNING_RATE / _ITS_BATCH),
        # The rule of DLPerf's scripts for PyTorch, single_node_train.sh.
        "node_learning_rate": times(per_node / 1000),
        "tokens_per_device": times(factors.get(_LENGTH) or 0),
        "local_ranks": ",".join(str(rank) for rank in range(per_node)),
        "sources_dir": f"{nodes[name]['sources_dir']}/{cell['benchmark']}-{cell['recipe']}",
        "world_size": ranks,
        "batch_size_per_node": times(per_node),
        "global_batch_size": times(ranks),
        "node_rank": cell["node_names"].index(name),
        "leading_address": nodes[cell["node_names"][0]]["address"],
    }


def check_placeholders(words: Iterable[Any], where: str, own: Iterable[str] = ()) -> None:
    """Refuse words that are no text or name an unknown placeholder.

    :param own: names that the benchmark adds.
    :raises ValueError: the place, the word and what may be named.
    """
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"{where}: {word!r} is not a text: quote it")
        try:
            named = _fields(word)
        except ValueError as error:
            raise ValueError(f"{where}: {word!r}: {error}; write {{{{ for a brace") from None
        known = sorted({*PLACEHOLDERS, *own})
        for field in named:
            if field not in known:
                raise ValueError(f"{where}: {word!r}: {{{field}}} is not one of {', '.join(known)}")
        if "tokens_per_device" in named and _LENGTH not in known:
            raise ValueError(
                f"{where}: {word!r}: {{tokens_per_device}} needs a factor {_LENGTH} of the"
                " benchmark"
            )


def fields(words: Iterable[str]) -> Set[str]:
    """Return what the words, which were checked, name in braces."""
    return {field for word in words for field in _fields(word)}


def _fields(word: str) -> List[str]:
    return [field for _, field, _, _ in string.Formatter().parse(word) if field is not None]
