import { expect, it } from "vitest";
import { parseProject } from "./project-input";

it("takes owner/name for a repository", () => {
  expect(parseProject(" kivo360/OmoiOS ")).toEqual({ kind: "repository", owner: "kivo360", repository: "OmoiOS" });
});

it("takes a repository's address for the repository", () => {
  expect(parseProject("https://github.com/kivo360/OmoiOS.git")).toEqual({
    kind: "repository",
    owner: "kivo360",
    repository: "OmoiOS",
  });
});

it("takes anything else for a name", () => {
  expect(parseProject("My tools")).toEqual({ kind: "name", name: "My tools" });
  expect(parseProject("this / that")).toEqual({ kind: "name", name: "this / that" });
});

it("knows nothing when it sees nothing", () => {
  expect(parseProject("  ")).toEqual({ kind: "nothing" });
});
