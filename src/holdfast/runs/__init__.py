"""Folders of results: the record of a run, its pieces and resuming (`folder`), and its output files (`outputs`).

Studies, replays, the paper's reproduction and the arena all write their folders through here.
"""
