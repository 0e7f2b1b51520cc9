"""The figures of a turn: the side panel, its row form for narrow screens, and the pages of statistics."""
