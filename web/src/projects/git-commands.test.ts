import { expect, test } from "vitest";
import { cloneCommand, fetchCommand } from "./git-commands";

const project = { clone_url: "https://omoi.example/git/1.git" };

test("a project is cloned by its URL", () => {
  expect(cloneCommand(project)).toBe("git clone https://omoi.example/git/1.git");
});

test("a branch is fetched and checked out", () => {
  expect(fetchCommand(project, "feature/a")).toBe(
    "git fetch https://omoi.example/git/1.git feature/a && git switch --create feature/a FETCH_HEAD",
  );
});
