"""The engine in a process of its own: `client` is the application's side, `server` the child's.

Importing this package or its client loads neither llama.cpp nor numpy.
"""
