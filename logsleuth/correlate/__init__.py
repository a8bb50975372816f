"""L3: SourceScans -> JobView: attempts, processes, ranks, the ledger of process groups, environment, coverage."""
