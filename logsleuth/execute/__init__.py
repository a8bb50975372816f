"""Where the map over sources runs. Scanning releases the interpreter lock, so threads are the first choice."""
