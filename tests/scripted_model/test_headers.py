"""The headers that name the task."""

from omoi_os.scripted_model.headers import TASK_DESCRIPTION, TASK_TITLE, read_text, task_headers


def test_texts_survive_the_headers() -> None:
    sent = task_headers('Größe "$(id)"\n→ C(50,25)', None)

    assert read_text(sent[TASK_TITLE]) == 'Größe "$(id)"\n→ C(50,25)'
    assert read_text(sent[TASK_DESCRIPTION]) == ""


def test_a_long_text_is_cut_so_that_its_header_is_taken() -> None:
    header = task_headers("t", "ä" * 100_000)[TASK_DESCRIPTION]

    assert len(f"{TASK_DESCRIPTION}: {header}") < 8190
    assert read_text(header) == "ä" * 2048
    assert read_text(task_headers("t", "x" + "ä" * 9_000)[TASK_DESCRIPTION]) == "x" + "ä" * 2047


def test_what_is_not_there_or_not_base64_says_nothing() -> None:
    assert read_text(None) is None
    assert read_text("no base64!") is None
