"""The command b2nd, which its wheel installs: `python -m b2nd` runs it with the same arguments.

There is no library for Python here.
"""
