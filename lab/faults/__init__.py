"""One file for each kind of fault. ``gloo_runs`` and ``nccl_runs`` yield its runs on those backends."""
