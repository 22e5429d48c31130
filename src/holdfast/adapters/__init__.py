"""Holdfast inside tools that people have: one module for each, which imports its partner when it is imported."""
