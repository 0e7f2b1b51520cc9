"""The engine in a process of its own: `server` is its side, `local_client` the chat's, `shared_client` that of `serve`.

Importing this package or a client loads neither llama.cpp nor numpy.
"""
