"""Run the acceptance case in six steps against any running OmoiOS server."""

import argparse
import sys

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.cli.checks import acceptance
from omoi_os.config import load_settings
from omoi_os.errors import OmoiError


def main() -> int:
    """Return 0 when the ticket became a verified branch, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="URL of the server (default: the configured host and port)")
    parser.add_argument("--token", help="API key (default: the administrator's key in the data folder)")
    arguments = parser.parse_args()
    try:
        settings = load_settings()
        token = arguments.token or ensure_admin_token(settings)
        return acceptance.run(arguments.url or settings.effective_api_url, token, sys.stdout)
    except OmoiError as error:
        print(f"\ntest_api_sandbox_spawn: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
