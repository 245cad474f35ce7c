"""Every benchmark, one after the other."""

from benchmarks import spawn, stream

if __name__ == "__main__":
    spawn.main()
    stream.main()
