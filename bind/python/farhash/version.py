"""The version, the same as of libfarhash."""

__version__ = "0.1.0"
