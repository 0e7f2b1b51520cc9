"""The terminal app: a transcript, a prompt, and the speculation of every answer in view."""
