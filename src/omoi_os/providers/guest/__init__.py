"""The guest: the program that supervises a sandbox from inside, shared by every provider that needs one.

Standard library only, started with `python -I -S`. `stdio_entry.py` is its entry point where a provider can attach to a
process's streams (docker), `command_line_entry.py` where it can only run command lines and read their output (daytona).
The local supervisor, which does the same duty from outside, uses the parts.

The modules that `bundle.py` packs must run on the Python of a foreign image, 3.9 or newer.
"""
