"""dibs and its peers on one PostgreSQL server, in one run."""
