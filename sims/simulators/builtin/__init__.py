"""The timing model that comes with Cascade."""
