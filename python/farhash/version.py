"""The version, which is that of libfarhash."""

__version__ = "0.1.0"
