"""Tasks in Redis or Valkey."""
