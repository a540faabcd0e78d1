"""The local nodes that these tests run on, and the browser that looks at pages."""

from browser import browser, open_file  # noqa: F401 (fixtures)
from local_nodes import cluster  # noqa: F401 (a fixture)
