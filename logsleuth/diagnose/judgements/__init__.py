"""One judgement a file, named after the cause it concludes; found by walking this folder.

A judgement module has a docstring with the headings Concludes, Evidence, Mistaken for and Example, and a function
``judge(job, catalog)`` that yields findings, or a ``Passed`` that says why not and what would have decided.
"""
