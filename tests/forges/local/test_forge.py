"""The local forge with real repositories."""

import asyncio
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.config import Settings
from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.registry import make_forge


def a_repository(*, seed: Path | str | None = None, default_branch: str = "main") -> Repository:
    return Repository(uuid4(), "kivo360", "OmoiOS", default_branch, str(seed) if seed else None)


def git(*arguments: str | Path, at: Path) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *map(str, arguments)]
    return subprocess.run(command, cwd=at, check=True, capture_output=True, text=True).stdout.strip()


def a_seed(folder: Path, *, branch: str = "main") -> Path:
    folder.mkdir()
    git("init", "-q", "-b", branch, at=folder)
    (folder / "hello.txt").write_text("hello")
    git("add", ".", at=folder)
    git("commit", "-q", "-m", "hello", at=folder)
    return folder


def commit_on(repository: Path, branch: str, at: Path) -> str:
    git("clone", "-q", repository, "work", at=at)
    work = at / "work"
    git("checkout", "-q", branch, at=work)
    (work / "new.txt").write_text("new")
    git("add", ".", at=work)
    git("commit", "-q", "-m", "new", at=work)
    git("push", "-q", "origin", branch, at=work)
    return git("rev-parse", "HEAD", at=work)


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    return LocalForge(tmp_path / "repos")


async def test_a_new_repository_has_a_first_commit_on_its_default_branch(forge: LocalForge) -> None:
    repository = a_repository(default_branch="trunk")

    await forge.ensure_repository(repository)

    assert git("show", "trunk:README.md", at=forge.path(repository)) == "# OmoiOS"
    assert git("symbolic-ref", "HEAD", at=forge.path(repository)) == "refs/heads/trunk"
    assert git("config", "receive.denyDeletes", at=forge.path(repository)) == "true"


async def test_creating_a_repository_again_changes_nothing(forge: LocalForge) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)
    head = await forge.branch_head(repository, "main")

    await forge.ensure_repository(repository)

    assert await forge.branch_head(repository, "main") == head is not None


async def test_concurrent_creations_create_one_repository(forge: LocalForge) -> None:
    repository = a_repository()

    await asyncio.gather(*(forge.ensure_repository(repository) for _ in range(4)))

    assert [path.name for path in forge.root.iterdir()] == [f"{repository.project_id}.git"]


async def test_a_seed_brings_its_history_and_its_branches(forge: LocalForge, tmp_path: Path) -> None:
    seed = a_seed(tmp_path / "seed")
    repository = a_repository(seed=seed)

    await forge.ensure_repository(repository)

    assert await forge.branch_head(repository, "main") == git("rev-parse", "HEAD", at=seed)
    assert "seed" not in (forge.path(repository) / "config").read_text()


async def test_a_seed_without_the_default_branch_gives_it_its_head(forge: LocalForge, tmp_path: Path) -> None:
    seed = a_seed(tmp_path / "seed", branch="old")
    repository = a_repository(seed=seed)

    await forge.ensure_repository(repository)

    assert await forge.branch_head(repository, "main") == git("rev-parse", "HEAD", at=seed)


async def test_an_empty_seed_gets_a_first_commit(forge: LocalForge, tmp_path: Path) -> None:
    git("init", "-q", "--bare", "empty.git", at=tmp_path)
    repository = a_repository(seed=tmp_path / "empty.git")

    await forge.ensure_repository(repository)

    assert await forge.branch_head(repository, "main") is not None


@pytest.mark.parametrize(
    "seed", ["https://example.org/x.git", "ext::sh -c true", "--upload-pack=touch /tmp/pwned", "."]
)
async def test_only_a_local_path_is_accepted_as_a_seed(forge: LocalForge, seed: str) -> None:
    repository = a_repository(seed=seed)

    with pytest.raises(ForgeError, match="absolute path"):
        await forge.ensure_repository(repository)

    assert not forge.path(repository).exists()
    assert list(forge.root.iterdir()) == []


async def test_another_project_s_repository_is_no_seed(forge: LocalForge, tmp_path: Path) -> None:
    other = a_repository()
    await forge.ensure_repository(other)
    (tmp_path / "link").symlink_to(forge.path(other))

    with pytest.raises(ForgeError, match="another project"):
        await forge.ensure_repository(a_repository(seed=tmp_path / "link"))


async def test_a_seed_that_is_no_repository_is_an_error_with_git_s_message(forge: LocalForge, tmp_path: Path) -> None:
    with pytest.raises(ForgeError, match="git clone failed"):
        await forge.ensure_repository(a_repository(seed=tmp_path / "nothing"))


async def test_a_branch_starts_at_the_default_branch_and_stays_where_it_is(forge: LocalForge, tmp_path: Path) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)

    first = await forge.create_branch(repository, "feature/a-page")
    assert first == await forge.branch_head(repository, "main")
    assert not await forge.has_commits(repository, "feature/a-page")

    pushed = commit_on(forge.path(repository), "feature/a-page", tmp_path)

    assert await forge.create_branch(repository, "feature/a-page") == pushed
    assert await forge.has_commits(repository, "feature/a-page")


@pytest.mark.parametrize(
    ("existing", "name"),
    [
        ("feature/login", "feature/login"),
        ("Feature/Login", "feature/login"),
        ("feature/login/form", "feature/login"),
        ("feature", "feature/login"),
        ("FEATURE", "feature/login"),
        ("feature/next", "feature/next"),
    ],
)
async def test_a_new_branch_of_a_task_never_adopts_one_that_exists(forge: LocalForge, existing: str, name: str) -> None:
    repository = a_repository(default_branch="feature/next" if existing == "feature/next" else "main")
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, existing)

    with pytest.raises(BranchTaken) as caught:
        await forge.create_branch(repository, name, task_id=uuid4())

    assert existing in caught.value.existing
    assert git("for-each-ref", "refs/omoi", at=forge.path(repository)) == ""


async def test_a_branch_is_recognised_as_the_task_s_own_when_its_creator_died(forge: LocalForge) -> None:
    repository, task_id = a_repository(), uuid4()
    await forge.ensure_repository(repository)
    created = await forge.create_branch(repository, "feature/login", task_id=task_id)

    assert await forge.create_branch(repository, "feature/login", task_id=task_id) == created
    with pytest.raises(BranchTaken):
        await forge.create_branch(repository, "feature/login", task_id=uuid4())


async def test_a_branch_that_others_pushed_to_is_not_the_task_s(forge: LocalForge, tmp_path: Path) -> None:
    repository, task_id = a_repository(), uuid4()
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, "feature/login", task_id=task_id)
    commit_on(forge.path(repository), "feature/login", tmp_path)

    with pytest.raises(BranchTaken):
        await forge.create_branch(repository, "feature/login", task_id=task_id)


async def test_one_of_many_concurrent_tasks_gets_a_name(forge: LocalForge) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)

    creating = (forge.create_branch(repository, "feature/login", task_id=uuid4()) for _ in range(8))
    results = await asyncio.gather(*creating, return_exceptions=True)

    created = [result for result in results if isinstance(result, str)]
    assert len(created) == 1
    assert all(isinstance(result, str | BranchTaken) for result in results)


async def test_a_missing_branch_has_no_head_and_no_commits(forge: LocalForge) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, "feature/a-page")

    assert await forge.branch_head(repository, "feature") is None
    assert await forge.branch_head(repository, "*") is None
    assert not await forge.has_commits(repository, "feature")


@pytest.mark.parametrize("name", ["a..b", "a b", "a~1", "x.lock", "", "a\nb"])
async def test_a_name_that_is_not_a_branch_name_is_refused(forge: LocalForge, name: str) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)

    with pytest.raises(ForgeError):
        await forge.create_branch(repository, name)


async def test_a_name_that_looks_like_an_option_is_only_a_name(forge: LocalForge) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)

    await forge.create_branch(repository, "--delete")

    assert await forge.branch_head(repository, "--delete") == await forge.branch_head(repository, "main")


async def test_a_missing_repository_is_an_error(forge: LocalForge) -> None:
    with pytest.raises(ForgeError, match="not a git repository"):
        await forge.branch_head(a_repository(), "main")


def test_a_forge_is_found_by_its_name(tmp_path: Path) -> None:
    forge = make_forge("local", Settings(data_dir=tmp_path))

    assert isinstance(forge, LocalForge)
    assert forge.root == tmp_path / "repos"
    with pytest.raises(ForgeError, match="'gitea'"):
        make_forge("gitea", Settings(data_dir=tmp_path))


async def test_a_held_branch_does_not_move(forge: LocalForge) -> None:
    repository = a_repository()
    await forge.ensure_repository(repository)
    head = await forge.create_branch(repository, "feature/held")
    path = forge.path(repository)
    other = git("commit-tree", "-p", head, "-m", "other", f"{head}^{{tree}}", at=path)

    async with forge.held(repository, "feature/held", head) as is_head:
        with pytest.raises(subprocess.CalledProcessError):
            git("update-ref", "refs/heads/feature/held", other, at=path)
    git("update-ref", "refs/heads/feature/held", other, at=path)
    async with forge.held(repository, "feature/held", head) as is_still_head:
        pass

    assert (is_head, is_still_head) == (True, False)
    assert await forge.branch_head(repository, "feature/held") == other
