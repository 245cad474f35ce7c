"""The platform on this machine: data folder, database, port, processes."""
