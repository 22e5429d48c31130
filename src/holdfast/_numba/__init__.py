"""Compilation and caching of kernels, and arrays with one column per game. Nothing here knows a policy."""
