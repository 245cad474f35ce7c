"""Every benchmark, one after the other."""

from benchmarks import messages, spawn

if __name__ == "__main__":
    spawn.main()
    messages.main()
