"""L2: one source -> SourceScan. A prefilter finds anchors in blocks of bytes; only text around a hit becomes Python
objects."""
