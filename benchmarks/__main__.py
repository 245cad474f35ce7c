"""Every benchmark, one after the other."""

from benchmarks import hearing, messages, spawn

if __name__ == "__main__":
    spawn.main()
    messages.main()
    hearing.main()
