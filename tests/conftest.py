"""Hypothesis for every test: the same examples in every run, fewer of them when kernels run as plain Python."""

import os

from hypothesis import settings

common = {"derandomize": True, "deadline": None, "database": None}
settings.register_profile("compiled", max_examples=100, **common)
settings.register_profile("plain", max_examples=15, **common)
settings.load_profile("plain" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "compiled")
