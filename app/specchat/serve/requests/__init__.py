"""What clients ask for, in the shapes of the APIs, and how it becomes a request to the engine."""
