"""With which codes the program ends, beside 0."""

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
