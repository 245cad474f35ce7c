"""`python -m omoi_os` is the console script `omoi`."""

from omoi_os.cli.main import main

if __name__ == "__main__":
    main()
