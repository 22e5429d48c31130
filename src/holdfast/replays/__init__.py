"""Replay a user's records: costs of each policy, best plans in hindsight, estimates from logs, advice."""
