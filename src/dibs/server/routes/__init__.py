"""One module for each topic, each with a `router`. A route is one verb of `Queue`; `dibs.wire` describes it."""
