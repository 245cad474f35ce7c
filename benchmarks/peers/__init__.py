"""What our figures are compared with: floors without our code, and peers that do the same work."""
