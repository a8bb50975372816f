"""Lint and test of the catalog: every file keeps the promises that the stages rely on."""
