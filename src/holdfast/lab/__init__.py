"""Experiments: a `Plan` of what is played, `Tables` of what came out, claims that are judged by them, and a report.

`plan` has the settings and cells, `tables` plays them, in memory or in a folder that can be resumed, and `judge` turns
tables into verdicts. The paper, the benchmark and the studies of users are data and a few functions on these three.
"""
