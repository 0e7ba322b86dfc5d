"""What is measured on PostgreSQL alone, or in a way of its own: beside `benchmarks.contest.measures`, in their form."""
