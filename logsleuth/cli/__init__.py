"""L6: the command line. The only place that knows all others; one file a command."""
