"""One module per measure. Each has `run(bench) -> Findings` and says in its docstring what it times."""
