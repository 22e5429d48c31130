"""Decisions over HTTP: `holdfast serve`, its API under /v1 and its page."""
