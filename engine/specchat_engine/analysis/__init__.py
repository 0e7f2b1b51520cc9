"""Analysis: inspects a position, audits losslessness, and holds the formulas."""
