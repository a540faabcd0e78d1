"""What words of a benchmark file may name in braces, and the values of these names."""

from __future__ import annotations

import string
from typing import Any, Dict, Iterable, List, Mapping, Set

from ..records.factors import factor_names, factor_values
from ..records.plans import Cell, Nodes

__all__ = ["BATCHES", "PLACEHOLDERS", "check_placeholders", "fields", "values_for"]

_OF_CELL = (
    *("warmup", "iterations", "device", "topology", "nodes", "devices_per_node"),
    *("epochs", "target_accuracy"),
)
_OF_NODE = ("address", "interface", "data_dir", "workload_dir", "threads")
# Computed from the others, because benchmark files do no arithmetic.
_DERIVED = (
    *("total_iterations", "world_size", "batch_size_per_node", "global_batch_size", "node_rank"),
    *("python", "leading_address", "node_addresses", "rank_port", "gpu_indices", "local_ranks"),
    *("total_samples", "learning_rate", "sources_dir", "workers", "node_endpoints"),
    *("tokens_per_device", "images_dir"),
    # The name of total_samples in version 0.1.
    "total_images",
)
# The factor that turns a batch of sequences into tokens.
_LENGTH = "sequence_length"
# The batches that a learning rate may be proportional to.
BATCHES = ("batch_size_per_device", "batch_size_per_node", "global_batch_size")
PLACEHOLDERS = frozenset((*factor_names(), *_OF_CELL, *_OF_NODE, *_DERIVED))


def values_for(
    cell: Cell, nodes: Nodes, name: str, recipe: Mapping[str, Any], more: Mapping[str, Any]
) -> Dict[str, Any]:
    """Return the value of every placeholder for node ``name`` of a cell.

    :param recipe: its ``learning_rate`` has ``per_sample`` and ``of``, one of :data:`BATCHES`.
    :param more: ``python``, ``rank_port``, ``gpu_indices``, ``workers``, ``node_addresses`` and
        ``node_endpoints``.
    """
    batch, per_node = cell["batch_size_per_device"], cell["devices_per_node"]
    ranks = cell["nodes"] * per_node
    # A training to a target has no number of iterations.
    iterations = cell["warmup"] + (cell["iterations"] or 0)

    def times(factor: int) -> Any:
        return _times(batch, factor)

    factors = factor_values(cell)
    batches = dict(zip(BATCHES, (batch, times(per_node), times(ranks))))
    rate = recipe.get("learning_rate")
    return {
        **factors,
        **{key: cell.get(key) for key in _OF_CELL},
        **{key: value for key, value in nodes[name].items() if key in _OF_NODE},
        **more,
        "total_iterations": iterations,
        **dict.fromkeys(("total_samples", "total_images"), times(ranks * iterations)),
        "learning_rate": _times(batches[rate["of"]], rate["per_sample"]) if rate else None,
        "tokens_per_device": times(factors.get(_LENGTH) or 0),
        "images_dir": nodes[name].get("images_dir") or f"{nodes[name]['data_dir']}/images",
        "local_ranks": ",".join(str(rank) for rank in range(per_node)),
        "sources_dir": f"{nodes[name]['sources_dir']}/{cell['benchmark']}-{cell['recipe']}",
        "world_size": ranks,
        **batches,
        "node_rank": cell["node_names"].index(name),
        "leading_address": nodes[cell["node_names"][0]]["address"],
    }


def _times(batch: Any, factor: float) -> Any:
    # A batch size that is still searched is a word. Shares of a sample have few digits.
    return round(batch * factor, 9) if isinstance(batch, int) else batch


def check_placeholders(words: Iterable[Any], where: str, own: Iterable[str] = ()) -> None:
    """Refuse words that are no text or name an unknown placeholder.

    :param own: names that the benchmark adds.
    :raises ValueError: the place, the word and what may be named.
    """
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"{where}: {word!r:.80} is not a text: quote it")
        try:
            named = _fields(word)
        except ValueError as error:
            raise ValueError(f"{where}: {word!r:.80}: {error}; write {{{{ for a brace") from None
        known = sorted({*PLACEHOLDERS, *own})
        for field in named:
            if field not in known:
                raise ValueError(
                    f"{where}: {word!r:.80}: {{{field}}} is not one of {', '.join(known)}; a factor"
                    " of its own the benchmark declares in factors"
                )
        if "tokens_per_device" in named and _LENGTH not in known:
            raise ValueError(
                f"{where}: {word!r:.80}: {{tokens_per_device}} needs a factor {_LENGTH} of the"
                " benchmark"
            )


def fields(words: Iterable[str]) -> Set[str]:
    """Return what the words, which were checked, name in braces."""
    return {field for word in words for field in _fields(word)}


def _fields(word: str) -> List[str]:
    named = []
    for _, field, form, conversion in string.Formatter().parse(word):
        if form or conversion:
            # A width in it would fill the memory.
            raise ValueError(f"{{{field}}} takes no form such as :>9 or !r")
        if field is not None:
            named.append(field)
    return named
