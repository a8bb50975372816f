"""Fault lab: real torchrun jobs with one injected fault each, and the accuracy of an analyzer on their logs.

``python -m lab run`` makes labelled case folders, ``python -m lab score`` measures an analyzer on them. Only the job
scripts in ``lab/jobs`` import torch, in the interpreter that runs them; the rest needs the standard library.
"""
