"""Every benchmark, one after the other."""

from benchmarks.spawn import main

if __name__ == "__main__":
    main()
