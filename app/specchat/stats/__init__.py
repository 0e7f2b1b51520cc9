"""What rounds tell: statistics, predictions, advice and their charts. Pure functions, for the app and for `run`."""
