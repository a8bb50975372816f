"""Copies of logs that are safe to share: names, addresses and secrets are replaced, everything else stays as it is.

    sources --learn--> Names --rewrite--> text --copies--> files

What identifies a machine or a person is learnt from the logs' own structure in a first pass, and replaced wherever it
stands in a second one. Ranks, ports, pids, numbers and the lines themselves are not touched, so that an analysis of
the copies finds the same.
"""
