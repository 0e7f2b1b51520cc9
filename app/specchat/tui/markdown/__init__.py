"""Markdown as rows of styled text, read block by block so that what is finished is never read again."""

from specchat.tui.markdown.rows import MarkdownRows

__all__ = ["MarkdownRows"]
