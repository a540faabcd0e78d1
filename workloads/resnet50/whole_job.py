"""What the first rank prints for the whole job: what it trains, where its ranks run, how it ended.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import hashlib

import report_lines
from report_lines import StoppedError


def begin_job(place, header, ranks):
    """Print the header and a line for each rank.

    :param place: this rank's ``rank_place.Place``; only the first one prints.
    :param ranks: every rank's ``Place.facts()``, by rank.
    """
    if place.rank == 0:
        print(report_lines.header_line(header))
        for rank in ranks:
            print(report_lines.rank_line(**rank))


def end_job(place, iterations, seconds, ends):
    """Compare the weights of all ranks and print the last line.

    :param seconds: wall time of all iterations, warm-up included.
    :param ends: every rank's `(checksum of its weights, peak memory in MiB)`, by rank.
    :raises StoppedError: if the weights differ.
    """
    checksums = [checksum for checksum, _ in ends]
    equal = len(set(checksums)) == 1
    if place.rank == 0:
        peak = max(memory for _, memory in ends)
        print(
            report_lines.end_line(
                iterations,
                seconds,
                peak,
                weights_checksum=checksums[0],
                weights_equal=equal,
            )
        )
    if not equal:
        raise StoppedError("weights_differ", f"weights by rank: {', '.join(checksums)}")


def checksum(weights):
    """Return the first 16 digits of SHA-256 over all weights.

    :param weights: objects that hold bytes, as NumPy arrays in C order do; in the same order on
        every rank.
    """
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(weight)
    return digest.hexdigest()[:16]
