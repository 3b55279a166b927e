"""The language server: what editors ask, answered with what the analyzer knows."""
