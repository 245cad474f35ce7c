"""The web page, built from `web/` into `static/`."""
