"""The figures of a cell's model and steps, which only trainers of some benchmarks state."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Tuple

from .column import CSV, MODEL, PROMETHEUS, TERMINAL, Column, of

__all__ = ["MODEL_COLUMNS"]


def _model_column(key: str, *path: str, **more: Any) -> Column:
    """Return a column of ``figures``, which the cells of few benchmarks have."""
    outputs = more.pop("outputs", (MODEL, CSV, PROMETHEUS))
    return Column(key, of("figures", *path), outputs, known=True, **more)


_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _with_prefix(key: str) -> Callable[[Mapping[str, Any]], Optional[str]]:
    """Return what shows a figure with three digits and a prefix of the SI: ``47.2 G``."""
    get = of("figures", key)

    def show(item: Mapping[str, Any]) -> Optional[str]:
        value = get(item)
        if value is None:
            return None
        rounded = float(f"{value:.3g}")
        found = (one for one in _PREFIXES if rounded >= one[0])
        size, prefix = next(found, (1.0, ""))
        return f"{f'{rounded / size:#.3g}'.rstrip('.')} {prefix}".rstrip()

    return show


def _in_percent(*path: str) -> Callable[[Mapping[str, Any]], Optional[str]]:
    """Return what shows a share in percent with three digits, however small: ``0.00412``."""
    get = of("figures", *path)

    def show(item: Mapping[str, Any]) -> Optional[str]:
        value = get(item)
        return None if value is None else f"{100 * value:#.3g}"

    return show


# What an MFU is by; of several formulas each has a column. A model has the first or the last.
_CONVENTIONS = {"nvidia": "NVIDIA", "torchtitan": "torchtitan", "stated": "stated FLOPs"}
MODEL_COLUMNS: Tuple[Column, ...] = (
    _model_column(
        *("flops_per_second", "flops_per_second"),
        title="FLOP/s",
        unit="FLOP/s",
        show=_with_prefix("flops_per_second"),
        metric="scalebench_model_flops_per_second",
        about="FLOPs of the model in a second on all devices together.",
    ),
    *(
        _model_column(
            *(f"mfu_{name}", "mfu", name),
            outputs=(*((TERMINAL,) if name != "torchtitan" else ()), MODEL, CSV, PROMETHEUS),
            title=f"MFU % ({words})",
            unit="share of the peak",
            show=_in_percent("mfu", name),
            metric="scalebench_model_flops_utilisation_ratio",
            about="FLOP/s of the model over the peak of its devices.",
            labels=(("convention", name),),
        )
        for name, words in _CONVENTIONS.items()
    ),
    _model_column(
        *("peak_flops_per_second", "peak_flops_per_second"),
        title="peak of a device, FLOP/s",
        unit="FLOP/s",
        show=_with_prefix("peak_flops_per_second"),
        metric="scalebench_device_peak_flops_per_second",
        about="Peak of one device that MFU refers to.",
    ),
    _model_column("peak_source", "peak_source", outputs=(MODEL, CSV), title="peak by"),
    *(
        _model_column(
            *(f"step_seconds_{name}", f"step_seconds_{name}"),
            title=f"step {name}, ms",
            unit="s",
            factor=1000,
            metric="scalebench_step_time_seconds",
            about="Time of a step, by its quantile over the measured steps.",
            labels=(("quantile", quantile),),
        )
        for name, quantile in (("p50", "0.5"), ("p99", "0.99"))
    ),
    _model_column(
        *("peak_memory_bytes", "peak_memory_bytes"),
        title="peak memory, MiB",
        unit="bytes",
        factor=2**-20,
        decimals=0,
        metric="scalebench_peak_memory_bytes",
        about="Largest memory of a rank, on its device or, on CPUs, of the process.",
    ),
    *(
        _model_column(
            *(f"{part}_seconds", "first_step", part),
            title=f"{part.replace('_', ' ')}, s",
            unit="s",
            metric="scalebench_first_step_seconds",
            about="Parts of the time from the launch to the end of the first step.",
            labels=(("part", part),),
        )
        for part in ("launch", "import", "build", "first_step")
    ),
)
