"""The queue over HTTP, for agents in any language: `create_app` in `app.py`, its routes in `routes/`."""
