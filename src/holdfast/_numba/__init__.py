"""How kernels are compiled, kept on disk, and given arrays with one column per game. Nothing here knows a policy."""
