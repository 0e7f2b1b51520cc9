"""A closer look: one position inspected, losslessness audited, the formulas."""
