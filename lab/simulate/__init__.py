"""Simulated training jobs: a model of ranks and process groups, one fault in it, and the logs that torch would print.

``python -m lab.simulate --out DIR --runs N --seed S`` writes labelled case folders. The model (``engine``,
``aftermath``) decides who waits where and what each process prints; ``torch_words`` and its neighbours know the wording
of each version; ``layout`` and ``losses`` decide what the user kept of it; ``truth`` works the label out from the model
and from the lines that are left. No analyzer takes part in that.
"""
