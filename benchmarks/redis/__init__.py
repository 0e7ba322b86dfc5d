"""dibs and its peers on one Redis server, in one run."""
