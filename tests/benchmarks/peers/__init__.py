"""Side by side with the tools that people use instead: `python -m peers` (see docs/benchmarks.md). Not a test."""
