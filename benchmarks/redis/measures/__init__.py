"""What is measured on Redis in a way of its own: beside `benchmarks.contest.measures`, in their form."""
