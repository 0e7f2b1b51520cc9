"""Compares specchat with other tools. See docs/benchmarks.md."""
