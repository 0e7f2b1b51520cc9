"""Engines that are reached over HTTP: vLLM, SGLang, llama-server, and whatever speaks OpenAI's API.

`client` is used like `LocalClient`. `servers` recognises an engine, `requests` writes for it, `chunks` reads
what it sends, and `rounds` makes rounds of that. Only `transport` knows the HTTP library.
"""
