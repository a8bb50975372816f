"""The catalog as its authors see it: lint, test, skeletons of new patterns, descriptions and pages of documentation."""
