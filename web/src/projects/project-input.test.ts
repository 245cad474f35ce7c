import { expect, it } from "vitest";
import { parseProject } from "./project-input";

it("parses owner/name as a repository", () => {
  expect(parseProject(" kivo360/OmoiOS ")).toEqual({ kind: "repository", owner: "kivo360", repository: "OmoiOS" });
});

it("parses a repository's URL", () => {
  expect(parseProject("https://github.com/kivo360/OmoiOS.git")).toEqual({
    kind: "repository",
    owner: "kivo360",
    repository: "OmoiOS",
  });
});

it("treats anything else as a name", () => {
  expect(parseProject("My tools")).toEqual({ kind: "name", name: "My tools" });
  expect(parseProject("this / that")).toEqual({ kind: "name", name: "this / that" });
});

it("reports empty input as nothing", () => {
  expect(parseProject("  ")).toEqual({ kind: "nothing" });
});
