"""Side by side with the tools that people use instead; see docs/benchmarks.md. Not a test."""
