"""Holdfast's own evidence: every policy on every environment (``holdfast arena``), and what is claimed of the adaptive
policy (``holdfast claims``)."""
