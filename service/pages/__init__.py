"""The live page: rendered here, refreshed by a small script of its own."""
