"""Reading scripts."""

import os
from pathlib import Path

import pytest

from omoi_os.errors import ConfigError
from omoi_os.scripted_model.scripts import BUILT_IN, Library, load_script

GOOD = "match: {match}\nsteps: [{{text: {text}}}]\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("match: a\nsteps: [{text: b}]\nspeed: 3", "speed", "Extra inputs are not permitted"),
        ("match: a\nsteps: [{text: b}, {tool: Bash, inputs: {}}]", "steps[1].inputs", "Extra inputs are not permitted"),
        ("match: '('\nsteps: [{text: b}]", "match", "valid regular expression"),
        ("match: a\nsteps: [{delay_s: 1}]", "steps[0]", "a step needs a 'tool' or a 'text'"),
        ("match: a\nsteps: [{text: b, input: {c: d}}]", "steps[0]", "'input' needs a 'tool'"),
        ("match: a\nsteps: [{text: b, fail: {status: 200}}]", "steps[0].fail.status", "400 to 599, or 'drop'"),
        ("match: a\nsteps: [{text: b, fail: {status: dorp}}]", "steps[0].fail.status", "400 to 599, or 'drop'"),
        ("match: a\nsteps: [{text: b, repeat: 0}]", "steps[0].repeat", "greater than or equal to 1"),
        ("match: a\nsteps: [{text: b}]\non_message: [{match: c, steps: []}]", "on_message[0].steps", "at least 1"),
        ("match: a\nsteps: [{text: b}]\nusage: {input_tokens: -1}", "usage.input_tokens", "greater than or equal to 0"),
    ],
)
def test_a_bad_script_is_named_with_its_key(tmp_path: Path, text: str, *, key: str, problem: str) -> None:
    path = write(tmp_path, "bad.yaml", text)

    with pytest.raises(ConfigError) as caught:
        load_script(path)

    assert str(caught.value).startswith(f"script {path}, key {key}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps: [", "is not valid YAML"),
        ("- match", "must be a mapping"),
        ("", "must be a mapping"),
        ("match: a", "'match' and 'steps' must be used together"),
        ("usage: {}", "a script needs 'match' and 'steps', or 'judgements'"),
    ],
)
def test_a_file_that_is_no_script_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, "bad.yaml", text)

    with pytest.raises(ConfigError) as caught:
        load_script(path)

    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_built_in_scripts_can_be_played() -> None:
    assert [script.covers("Compute binomial coefficient C(50, 25)") for script in Library(None).scripts()] == [True]
    assert (BUILT_IN / "binomial.yaml").is_file()


@pytest.mark.parametrize(
    ("task", "covered"),
    [("a binomial", True), ("what is C(50,25)?", True), ("C(50, 25)", True), ("C(50;25)", False), ("a poem", False)],
)
def test_the_demo_script_covers_what_the_contract_says(task: str, *, covered: bool) -> None:
    assert (Library(None).find(task) is not None) is covered


def test_the_folder_wins_and_its_files_go_by_name(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", GOOD.format(match="binomial|other", text="b"))
    write(tmp_path, "a.yaml", GOOD.format(match="binomial", text="a"))
    write(tmp_path, "notes.txt", "no script")
    library = Library(tmp_path)

    found = [library.find(task) for task in ("binomial", "other", "C(50,25)")]

    assert [script and script.steps[0].text for script in found[:2]] == ["a", "b"]
    assert found[2] is not None
    assert found[2].steps[0].tool == "Bash"


def test_a_changed_folder_is_read_again(tmp_path: Path) -> None:
    library = Library(tmp_path)
    assert library.find("poem") is None

    path = write(tmp_path, "poem.yaml", GOOD.format(match="poem", text="one"))
    first = library.find("poem")
    assert first is not None
    assert library.find("poem") is first

    write(tmp_path, "poem.yaml", GOOD.format(match="poem", text="two"))
    os.utime(path, (1, 1))
    second = library.find("poem")
    assert second is not None
    assert second.steps[0].text == "two"

    path.unlink()
    assert library.find("poem") is None


def test_a_script_that_becomes_bad_is_named_until_it_is_mended(tmp_path: Path) -> None:
    library = Library(tmp_path)
    write(tmp_path, "bad.yaml", "match: a")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"bad\.yaml"):
            library.find("a")

    write(tmp_path, "bad.yaml", GOOD.format(match="a", text="mended"))
    assert library.find("a") is not None


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"OMOI_SCRIPTS_DIR: the folder {tmp_path}/none cannot be read"):
        Library(tmp_path / "none")


def test_the_judgement_of_the_script_that_plays_is_preferred(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "judgements: {Verdict: {score: 1}, Other: {x: 2}}")
    write(tmp_path, "b.yaml", "match: poem\nsteps: [{text: b}]\njudgements: {Verdict: {score: 9}}")
    library = Library(tmp_path)

    assert library.find_judgement("Verdict", "a poem") == {"score": 9}
    assert library.find_judgement("Verdict", "a song") == {"score": 1}
    assert library.find_judgement("Other", "a poem") == {"x": 2}
    assert library.find_judgement("None", "a poem") is None
