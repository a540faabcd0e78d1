"""What several tests of the pure code begin with."""

import gc
import json

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.scalebench.core.plugins.module_utils.records import factors
from hypothesis import HealthCheck, settings
from torch_trainers import python  # noqa: F401 (a fixture)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Ten times as fast as PyYAML's own; for tests only, the product has no ``!unsafe``."""


# As Ansible reads it: a text without templates.
_Loader.add_constructor("!unsafe", _Loader.construct_yaml_str)
yaml.SafeLoader = _Loader
# How long an example takes, and to think of it, depends on what else the machine does.
settings.register_profile(
    "any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_machine")
# Cycles would be looked for in what nine thousand tests consist of, again and again.
gc.set_threshold(100_000, 50, 100)


def pytest_collection_finish():
    """Leave the tests themselves out of that."""
    gc.freeze()


@pytest.fixture
def later_factor(monkeypatch):
    """Add a factor to the table that recorded campaigns and published rows do not state."""
    factor = factors.Factor(
        "accumulation", factors.parse_count, token="acc{}", plain=1, listed=True
    )
    monkeypatch.setattr(factors, "FACTORS", (*factors.FACTORS, factor))
    return factor


@pytest.fixture
def run(capsys):
    """Return a function that runs a module and gives its result."""

    def result_of(module, check=False, **arguments):
        given = {**arguments, "_ansible_check_mode": check}
        with patch_module_args(given), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return result_of
