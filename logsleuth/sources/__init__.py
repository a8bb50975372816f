"""L1: what the user pointed at -> Sources, and bytes out of them. Knows paths, archives and line prefixes; no
patterns."""
