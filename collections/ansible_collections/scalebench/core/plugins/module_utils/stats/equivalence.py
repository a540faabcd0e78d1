"""Whether a ratio is shown to lie beyond a bound, or within a margin of 1."""

from __future__ import annotations

import math

from .log_ratio import LogRatio
from .student_t import upper_tail

__all__ = ["above_p", "below_p", "equivalence_p"]


def above_p(found: LogRatio, bound: float) -> float:
    """Return the p value of "the ratio is above ``bound``": small where that is shown."""
    t = (found.estimate - math.log(bound)) / found.standard_error
    return upper_tail(t, found.degrees_of_freedom)


def below_p(found: LogRatio, bound: float) -> float:
    """Return the p value of "the ratio is below ``bound``": small where that is shown."""
    t = (found.estimate - math.log(bound)) / found.standard_error
    return upper_tail(-t, found.degrees_of_freedom)


def equivalence_p(found: LogRatio, margin: float) -> float:
    """Return the p value of "the ratio is within 1 - margin and 1 + margin".

    Two one-sided tests, both of which must be passed: Schuirmann, "A comparison of the two
    one-sided tests procedure and the power approach", Journal of Pharmacokinetics and
    Biopharmaceutics 15 (1987). At 0.05 it is the same as a 90 % interval within the margin.

    :param margin: a share between 0 and 1.
    """
    return max(above_p(found, 1 - margin), below_p(found, 1 + margin))
