"""Files and pages that are not text: a process of its own turns them into text, or into a picture for the engine."""
