"""What words of a benchmark file may name in braces, and the words with the values in them."""

from __future__ import annotations

import string
from typing import Any, Dict, Iterable, Mapping

__all__ = ["PLACEHOLDERS", "check_placeholders", "values_for"]

_OF_CELL = (
    *("precision", "batch_size_per_device", "image_size", "warmup", "iterations", "device"),
    *("data", "data_backend", "xla", "mode", "topology", "nodes", "devices_per_node"),
    *("epochs", "target_accuracy"),
)
_OF_NODE = ("address", "interface", "data_dir", "workload_dir", "threads")
# Made of the others, because benchmark files do no arithmetic.
_DERIVED = (
    *("total_iterations", "world_size", "batch_size_per_node", "global_batch_size", "node_rank"),
    *("python", "leading_address", "node_addresses", "rank_port", "gpu_indices", "local_ranks"),
    *("total_images", "scaled_learning_rate", "sources_dir"),
)
# What NVIDIA/DeepLearningExamples begin with for so many images.
_LEARNING_RATE, _ITS_BATCH = 0.256, 256
PLACEHOLDERS = frozenset((*_OF_CELL, *_OF_NODE, *_DERIVED))


def values_for(
    cell: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
    name: str,
    more: Mapping[str, Any],
) -> Dict[str, Any]:
    """Return the value of every placeholder for node ``name`` of a cell.

    :param nodes: as ``launch.commands`` gets them.
    :param more: ``python``, ``rank_port`` and ``gpu_indices``.
    """
    batch, per_node = cell["batch_size_per_device"], cell["devices_per_node"]
    ranks = cell["nodes"] * per_node
    # A training to a target has no number of iterations.
    iterations = cell["warmup"] + (cell["iterations"] or 0)

    def times(factor: float) -> Any:
        # A batch size that is to be searched is a word until then.
        return batch * factor if isinstance(batch, int) else batch

    return {
        **{key: cell.get(key) for key in _OF_CELL},
        **{key: nodes[name][key] for key in _OF_NODE},
        **more,
        "total_iterations": iterations,
        "total_images": times(ranks * iterations),
        # The linear scaling rule of Goyal et al. 2017, "Accurate, Large Minibatch SGD".
        "scaled_learning_rate": times(ranks * _LEARNING_RATE / _ITS_BATCH),
        "local_ranks": ",".join(str(rank) for rank in range(per_node)),
        "sources_dir": f"{nodes[name]['sources_dir']}/{cell['benchmark']}-{cell['recipe']}",
        "world_size": ranks,
        "batch_size_per_node": times(per_node),
        "global_batch_size": times(ranks),
        "node_rank": cell["node_names"].index(name),
        "leading_address": nodes[cell["node_names"][0]]["address"],
        "node_addresses": ",".join(nodes[other]["address"] for other in cell["node_names"]),
    }


def check_placeholders(words: Iterable[Any], where: str) -> None:
    """Refuse words that are no text or name what is not there.

    :raises ValueError: the place, the word and what may be named.
    """
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"{where}: {word!r} is not a text: quote it")
        try:
            fields = [field for _, field, _, _ in string.Formatter().parse(word)]
        except ValueError as error:
            raise ValueError(f"{where}: {word!r}: {error}; write {{{{ for a brace") from None
        for field in fields:
            if field is not None and field not in PLACEHOLDERS:
                known = ", ".join(sorted(PLACEHOLDERS))
                raise ValueError(f"{where}: {word!r}: {{{field}}} is none of {known}")
