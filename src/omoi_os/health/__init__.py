"""Status of the platform itself: warnings, running orchestrators, available providers, versions."""
