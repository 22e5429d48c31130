"""Every policy on every environment: `run_arena` in `holdfast.arena.run`, and the command ``holdfast arena``."""
