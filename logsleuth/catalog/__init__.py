"""patterns/ as validated specs: what a message looks like and what a cause means. No scanning, no reasoning."""
