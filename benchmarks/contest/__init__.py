"""dibs and its peers on one server, taking turns: what is the same whatever the server is."""
