"""The queues that dibs is compared with: what each needs, its settings, and a script that runs in its environment."""
