"""OmoiOS: a control plane that turns tickets into verified branches."""
