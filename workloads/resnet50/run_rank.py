"""Train as one rank and turn what went wrong into a printed line and an exit status.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import traceback

from report_lines import StoppedError, error_line


def run_rank(train, rank):
    """Call `train` and return the exit status, having said why where it is not 0.

    :param train: does all iterations of this rank.
    :param rank: this rank, for the error line.
    """
    try:
        train()
    except StoppedError as error:
        print(error_line(error.kind, str(error), rank))
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0
