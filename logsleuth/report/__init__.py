"""L5: the report contract, built from a diagnosis, and its renderers."""
