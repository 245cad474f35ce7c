"""Recognises files that checks depend on: a change to one of them may change what the checks prove."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_TEST_FOLDERS = frozenset(
    {
        "test",
        "tests",
        "testing",
        "testdata",
        "__tests__",
        "__snapshots__",
        "__mocks__",
        "spec",
        "specs",
        "fixtures",
        "e2e",
    }
)
_CI_FOLDERS = frozenset({".github", ".gitlab", ".circleci", ".buildkite", ".ci", ".teamcity", ".husky", ".woodpecker"})

#: Longer names cannot be checked out.
_MAX_NAME = 255
#: File names, in lower case: tests and what runs them; builds, scripts and dependencies; continuous integration.
_NAMES = frozenset(
    re.findall(
        r"\S+",
        """
        test_* *_test.* *_tests.* *.test.* *.tests.* *.spec.* *_spec.* *test.java *tests.java *test.kt *tests.cs
        *test.cs *test.php conftest.py pytest.ini .pytest.ini tox.ini noxfile.py unittest.cfg .coveragerc
        jest.config.* jest.setup.* vitest.* karma.conf.* playwright.config.* cypress.config.* cypress.json .mocharc.*
        .nycrc* phpunit.xml* .rspec codecept*.yml ctest*.cmake nextest.toml

        makefile gnumakefile *.mk justfile .justfile taskfile.y*ml cmakelists.txt *.cmake meson.build build.ninja
        build build.bazel workspace module.bazel *.bzl build.gradle* settings.gradle* gradle.properties gradlew*
        pom.xml mvnw* build.xml build.sbt rakefile gemfile* *.gemspec package.json package-lock.json
        npm-shrinkwrap.json yarn.lock pnpm-*.yaml bun.lock* deno.json* deno.lock lerna.json nx.json turbo.json .npmrc
        .yarnrc* .nvmrc tsconfig*.json babel.config.* .babelrc* vite.config.* webpack.*.js rollup.config.* .eslintrc*
        eslint.config.* biome.json* pyproject.toml setup.py setup.cfg manifest.in requirements*.txt requirements*.in
        constraints*.txt pipfile* poetry.lock uv.lock pdm.lock environment.y*ml ruff.toml .ruff.toml mypy.ini
        .mypy.ini .pylintrc .flake8 pyrightconfig.json .python-version .tool-versions mise.toml sitecustomize.py
        usercustomize.py *.pth go.mod go.sum go.work* .golangci.* cargo.toml cargo.lock build.rs rust-toolchain*
        clippy.toml composer.json composer.lock mix.exs mix.lock *.csproj *.sln directory.*.props nuget.config
        package.swift podfile* pubspec.* dockerfile* *.dockerfile docker-compose* compose.y*ml .gitattributes
        .gitmodules .envrc .env .pre-commit-config.y*ml

        .gitlab-ci*.yml .travis.yml jenkinsfile* azure-pipelines*.y*ml appveyor.yml bitbucket-pipelines.yml .drone.yml
        cloudbuild.y*ml codecov.yml .codecov.yml sonar-project.properties
        """,
    )
)
_EXACT = frozenset(name for name in _NAMES if "*" not in name)
#: Only `*` is special in the names.
_PATTERNS = re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in sorted(_NAMES - _EXACT)), re.DOTALL)
_WORD = re.compile(r"[^\s'\"|&;<>()$`=]+")


def is_check_file(path: str) -> bool:
    """Return whether the file with this path decides what checks do: a test, build, dependency or CI file."""
    *folders, name = path.lower().split("/")
    if len(name) > _MAX_NAME:
        return False
    if not _TEST_FOLDERS.isdisjoint(folders) or not _CI_FOLDERS.isdisjoint(folders):
        return True
    return name in _EXACT or _PATTERNS.fullmatch(name) is not None


def named_in(commands: Iterable[str]) -> frozenset[str]:
    """Return the words of the commands that may be paths in the repository."""
    words = (word for command in commands for word in _WORD.findall(command))
    return frozenset(str(PurePosixPath(word.removeprefix("./"))) for word in words)
