"""Running the platform on this machine: data folder, database, port, processes."""
