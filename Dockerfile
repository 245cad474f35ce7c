# The image of sandboxes of the docker and daytona providers, built by `make image`.
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE}

RUN command -v git >/dev/null || { \
        apt-get update \
        && apt-get install -y --no-install-recommends ca-certificates git \
        && rm -rf /var/lib/apt/lists/*; \
    }

RUN groupadd --gid 1000 agent \
    && useradd --uid 1000 --gid agent --create-home --home-dir /home/agent --shell /bin/bash agent \
    && install -d -o agent -g agent /workspace \
    && install -d /run/omoi /run/mirror.git

# The only dependency of the worker, in the version that the platform uses.
COPY pyproject.toml /opt/omoi/
RUN python3 -m venv /opt/omoi \
    && sdk=$(/opt/omoi/bin/python -c "import tomllib; print(next(name for name in tomllib.load(open('/opt/omoi/pyproject.toml', 'rb'))['project']['dependencies'] if name.startswith('claude-agent-sdk')))") \
    && /opt/omoi/bin/python -m pip install --no-cache-dir --disable-pip-version-check "$sdk"

COPY src/omoi_os /opt/omoi/site/omoi_os
# The root of a sandbox is read-only, so nothing can be compiled later.
RUN /opt/omoi/bin/python -m compileall -q /opt/omoi/site

USER agent
WORKDIR /workspace
