"""A frozen benchmark: one policy on a versioned suite, ranked against results that never change."""
