"""Settings: precedence of the sources, and errors that name the bad value."""

from pathlib import Path

import pytest

from omoi_os.config import MAX_DATA_DIR_BYTES, Settings, load_settings
from omoi_os.errors import ConfigError

SHIPPED = Path(__file__).parent.parent / "config"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def test_defaults_need_no_source(folder: Path) -> None:
    settings = load_settings(environ={}, config_dir=folder)

    assert (settings.host, settings.port, settings.database_url) == ("127.0.0.1", 18000, None)


def test_each_source_wins_over_the_one_below_it(folder: Path) -> None:
    write(folder, "base.yaml", "port: 1001\n")
    write(folder, "staging.yaml", "port: 1002\n")

    def port(environ: dict[str, str], **parameters: int) -> int:
        return load_settings(environ=environ, config_dir=folder, **parameters).port

    assert port({}) == 1001
    assert port({"OMOI_ENV": "staging"}) == 1002
    assert port({"OMOI_ENV": "staging", "OMOI_PORT": "1003"}) == 1003
    assert port({"OMOI_ENV": "staging", "OMOI_PORT": "1003"}, port=1004) == 1004


def test_a_section_of_yaml_sets_its_settings(folder: Path) -> None:
    write(folder, "base.yaml", "sandbox:\n  memory_gb: 1.5\ntasks:\n  max_attempts: 7\n")

    settings = load_settings(environ={}, config_dir=folder)

    assert (settings.sandbox_memory_gb, settings.max_attempts) == (1.5, 7)


def test_an_empty_variable_counts_as_unset(folder: Path) -> None:
    assert load_settings(environ={"DATABASE_URL": "", "OMOI_PORT": ""}, config_dir=folder).database_url is None


@pytest.mark.parametrize("text", ["prot: 1\n", "sandbox:\n  prot: 1\n", "sandbox: 3\n"])
def test_an_unknown_key_is_refused_by_name_and_file(folder: Path, text: str) -> None:
    write(folder, "base.yaml", text)

    with pytest.raises(ConfigError, match=r"base\.yaml: unknown setting '(sandbox|sandbox\.prot|prot)'"):
        load_settings(environ={}, config_dir=folder)


@pytest.mark.parametrize("text", ["port: [", "- port\n", "a: b: c\n"])
def test_a_file_that_is_no_mapping_is_refused_in_one_line(folder: Path, text: str) -> None:
    write(folder, "base.yaml", text)

    with pytest.raises(ConfigError, match=r"base\.yaml") as caught:
        load_settings(environ={}, config_dir=folder)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("OMOI_PORT", "http", "must be a whole number (got 'http')"),
        ("OMOI_PORT", "0", "must be at least 1 (got '0')"),
        ("SANDBOX_CPU", "two", "must be a number (got 'two')"),
        ("SANDBOX_CPU", "0", "must be greater than 0 (got '0')"),
        ("ORCHESTRATOR_ENABLED", "maybe", "must be true or false (got 'maybe')"),
        ("OMOI_ADMIN_TOKEN", "hush", "must have at least 16 characters"),
    ],
)
def test_a_bad_value_is_explained_in_one_sentence(folder: Path, variable: str, value: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={variable: value}, config_dir=folder)

    assert str(caught.value) == f"{variable}: {sentence}"


def test_a_misspelt_setting_gets_a_suggestion(folder: Path) -> None:
    write(folder, "base.yaml", "tasks:\n  max_atempts: 3\n")

    with pytest.raises(ConfigError, match=r"unknown setting 'tasks.max_atempts'; did you mean 'tasks.max_attempts'\?"):
        load_settings(environ={}, config_dir=folder)


def test_a_scripts_folder_that_does_not_exist_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"^OMOI_SCRIPTS_DIR: {folder}/none is not a folder; create it or unset"):
        load_settings(environ={"OMOI_SCRIPTS_DIR": str(folder / "none")}, config_dir=folder)


def test_a_bad_value_is_named_with_the_place_it_came_from(folder: Path) -> None:
    write(folder, "base.yaml", "tasks:\n  max_attempts: many\n")

    with pytest.raises(ConfigError, match=r"^tasks\.max_attempts in .*base\.yaml: .*'many'"):
        load_settings(environ={}, config_dir=folder)
    with pytest.raises(ConfigError, match=r"^OMOI_PORT: .*'http'"):
        load_settings(environ={"OMOI_PORT": "http"}, config_dir=SHIPPED)
    with pytest.raises(ConfigError, match=r"^parameter port: .*70000"):
        load_settings(environ={}, config_dir=SHIPPED, port=70000)


@pytest.mark.parametrize(
    "url", ["mysql://me:hush@db/omoi", "hush", "postgresql://me:hush@db:x/omoi", "postgresql+asyncpg://me:hush@db/omoi"]
)
def test_a_url_that_is_not_postgresql_is_refused_with_an_example(folder: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"^DATABASE_URL: must be a PostgreSQL URL, such as ") as caught:
        load_settings(environ={"DATABASE_URL": url}, config_dir=folder)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgres://db/omoi", "postgresql:///omoi?host=/run/pg", "postgresql+psycopg://db:1/x"]
)
def test_a_postgresql_url_may_have_any_of_the_usual_forms(folder: Path, url: str) -> None:
    assert load_settings(environ={"DATABASE_URL": url}, config_dir=folder).database_url == url


@pytest.mark.parametrize("name", ["OMOI_ADMIN_TOKEN", "ANTHROPIC_API_KEY", "DATABASE_URL"])
def test_a_secret_is_shown_neither_in_an_error_nor_in_the_settings(folder: Path, name: str) -> None:
    secret = "postgresql://me:hush-hush@db/omoi"
    assert "hush-hush" not in repr(load_settings(environ={name: secret}, config_dir=folder))

    with pytest.raises(ConfigError) as caught:
        load_settings(environ={"OMOI_ADMIN_TOKEN": "hush"}, config_dir=folder)
    assert "OMOI_ADMIN_TOKEN" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_an_environment_without_its_file_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"OMOI_ENV: 'prodution' selects .*prodution\.yaml"):
        load_settings(environ={"OMOI_ENV": "prodution"}, config_dir=folder)


def test_a_data_folder_too_long_for_its_sockets_is_refused(folder: Path) -> None:
    fits, too_long = "/" + "d" * (MAX_DATA_DIR_BYTES - 1), "/" + "d" * MAX_DATA_DIR_BYTES

    assert load_settings(environ={"OMOI_DATA_DIR": fits}, config_dir=folder).data_dir == Path(fits)
    with pytest.raises(ConfigError, match=r"^OMOI_DATA_DIR: .* shorter path"):
        load_settings(environ={"OMOI_DATA_DIR": too_long}, config_dir=folder)


def test_a_relative_data_folder_means_the_same_in_every_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/tmp")

    assert load_settings(environ={"OMOI_DATA_DIR": "d"}, config_dir=folder).data_dir == Path("/tmp/d")


@pytest.mark.parametrize("environ", [{"DAYTONA_SANDBOX_EXECUTION": "true"}, {"SANDBOX_PROVIDER": "daytona"}])
def test_daytona_is_chosen_by_either_name(folder: Path, environ: dict[str, str]) -> None:
    assert load_settings(environ=environ, config_dir=folder).sandbox_provider == "daytona"


def test_a_named_provider_wins_over_the_switch(folder: Path) -> None:
    environ = {"DAYTONA_SANDBOX_EXECUTION": "true", "SANDBOX_PROVIDER": "docker"}

    assert load_settings(environ=environ, config_dir=folder).sandbox_provider == "docker"


def test_resources_are_found_under_the_seeds_names(folder: Path) -> None:
    write(
        folder,
        "base.yaml",
        "daytona:\n  snapshot: mine\n  sandbox_memory_gb: 6\n  sandbox_cpu: 3\n  sandbox_disk_gb: 9\n",
    )

    settings = load_settings(environ={"SANDBOX_CPU": "4"}, config_dir=folder)

    found = (settings.sandbox_snapshot, settings.sandbox_memory_gb, settings.sandbox_cpu, settings.sandbox_disk_gb)
    assert found == ("mine", 6, 4, 9)


@pytest.mark.parametrize("name", ["MEMORY_GB", "CPU", "DISK_GB"])
def test_resources_beyond_their_limit_are_refused_until_it_is_raised(folder: Path, name: str) -> None:
    environ = {f"SANDBOX_{name}": "12"}

    with pytest.raises(ConfigError, match=f"SANDBOX_{name}: 12 is more than .*raise SANDBOX_MAX_{name}"):
        load_settings(environ=environ, config_dir=folder)
    assert load_settings(environ=environ | {f"SANDBOX_MAX_{name}": "16"}, config_dir=folder)


def test_the_shipped_file_shows_every_setting_with_its_default() -> None:
    written = (SHIPPED / "base.yaml").read_text()

    assert load_settings(environ={}, config_dir=SHIPPED) == Settings()
    for name, field in Settings.model_fields.items():
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        assert str(extra["env"]) in written, name


def test_the_shipped_production_file_is_valid() -> None:
    assert load_settings(environ={"OMOI_ENV": "production"}, config_dir=SHIPPED).host == "0.0.0.0"


PRICE = "{input_usd: 2, output_usd: 8}"


def test_prices_come_from_a_section_of_yaml_or_from_a_file(folder: Path) -> None:
    write(folder, "base.yaml", f"prices:\n  sonnet: {PRICE}\n")
    write(folder, "prices.yaml", f"haiku: {PRICE}\n")

    of_section = load_settings(environ={}, config_dir=folder).prices
    of_file = load_settings(environ={"OMOI_PRICES": str(folder / "prices.yaml")}, config_dir=folder).prices

    assert (list(of_section), list(of_file)) == (["sonnet"], ["haiku"])
    assert (of_section["sonnet"].input_usd, of_file["haiku"].output_usd) == (2, 8)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("opus: {input_usd: -1, output_usd: 8}", "opus.input_usd must be at least 0 (got -1)"),
        ("opus: {input_usd: cheap, output_usd: 8}", "opus.input_usd must be a number (got 'cheap')"),
        ("opus: {input_usd: 1}", "opus.output_usd is missing"),
        ("opus: {input_usd: 1, output_usd: .inf}", "opus.output_usd must be a number (got inf)"),
        ("opus: {input_usd: 1, output_usd: 2, ouput: 3}", "opus.ouput is not a known setting (got 3)"),
        ("opus: 5", "opus must be a mapping (got 5)"),
        ("- opus", "must be a mapping (got ['opus'])"),
    ],
)
def test_a_bad_price_is_named(folder: Path, text: str, problem: str) -> None:
    write(folder, "prices.yaml", text)

    with pytest.raises(ConfigError) as caught:
        load_settings(environ={"OMOI_PRICES": str(folder / "prices.yaml")}, config_dir=folder)

    assert str(caught.value) == f"OMOI_PRICES: {problem}"


@pytest.mark.parametrize(("text", "problem"), [(None, "cannot be read: No such file"), ("a: [", "is not valid YAML")])
def test_a_price_file_that_cannot_be_read_is_named(folder: Path, text: str | None, problem: str) -> None:
    if text is not None:
        write(folder, "prices.yaml", text)

    with pytest.raises(ConfigError, match=f"^OMOI_PRICES: the file {problem}"):
        load_settings(environ={"OMOI_PRICES": str(folder / "prices.yaml")}, config_dir=folder)


def test_the_public_url_defaults_to_where_the_api_listens(folder: Path) -> None:
    def url(**environ: str) -> str:
        return load_settings(environ=environ, config_dir=folder).effective_public_url

    assert url() == "http://127.0.0.1:18000"
    assert url(OMOI_HOST="::1", OMOI_PORT="1") == "http://[::1]:1"
    assert url(OMOI_PUBLIC_URL="https://omoi.example/base/", OMOI_API_URL="http://internal") == (
        "https://omoi.example/base"
    )


@pytest.mark.parametrize("url", ["omoi.example", "ftp://omoi.example", "https://", "https://user@omoi", "http://o?x=1"])
def test_a_public_url_that_no_browser_can_open_is_refused(folder: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="OMOI_PUBLIC_URL: must be a URL with http or https"):
        load_settings(environ={"OMOI_PUBLIC_URL": url}, config_dir=folder)
