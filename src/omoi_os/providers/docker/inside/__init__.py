"""What runs inside a container: standard library only, started with `-I -S` from the image's own copy."""
