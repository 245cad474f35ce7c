"""Metered model calls: the credential, the price, the budget reservation and the recorded usage of each call.

Nothing here knows sandboxes' requests or the gateway's routes, so other parts of the platform can call models too.
"""
