"""The queues that dibs is compared with."""
