"""What one operation costs on each store, also against another version of dibs: the measures `slow` and `hot`."""
