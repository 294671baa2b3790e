"""A recorded simulator log, played back."""
