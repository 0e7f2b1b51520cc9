"""Ready-made ways to start a server: which drafts it should use, and the command line or manifest for that.

Nothing is executed, and nothing is connected.
"""
