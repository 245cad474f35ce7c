import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import { EMPTY_FORM, initialForm, ticketBody, errorsFrom, validate } from "./ticket-form";

describe("a form", () => {
  it("starts with the current project, unless there is a draft", () => {
    expect(initialForm({ ...EMPTY_FORM, projectId: "last" }, "shown").projectId).toBe("shown");
    expect(initialForm({ ...EMPTY_FORM, projectId: "last" }, undefined).projectId).toBe("last");
    for (const written of [{ title: "x" }, { description: "x" }, { newProject: "a/b" }])
      expect(initialForm({ ...EMPTY_FORM, ...written }, "shown").projectId).toBe("");
  });

  it("needs a title and a project", () => {
    expect(Object.keys(validate(EMPTY_FORM))).toEqual(["title", "project"]);
    expect(validate({ ...EMPTY_FORM, title: "x", projectId: "p" })).toEqual({});
    expect(validate({ ...EMPTY_FORM, title: "x", newProject: "a/b" })).toEqual({});
  });

  it("requires a budget above 0", () => {
    const form = { ...EMPTY_FORM, title: "x", projectId: "p" };
    for (const budget of ["0", "-1", "two", "Infinity"]) expect(validate({ ...form, budget })).toHaveProperty("budget");
    expect(validate({ ...form, budget: "2.50" })).toEqual({});
  });

  it("becomes a ticket with one command per line", () => {
    const form = { ...EMPTY_FORM, title: " x ", acceptance: "make test\n\n  python3 a.py  \n", budget: "1.5" };
    expect(ticketBody(form)).toMatchObject({ title: "x", acceptance: ["make test", "python3 a.py"], budget_usd: 1.5 });
    expect(ticketBody(EMPTY_FORM).budget_usd).toBeNull();
  });
});

describe("an API error", () => {
  it("is shown at its field", () => {
    const error = new ApiError(422, "github_repo: must be a name", { github_repo: "must be a name", title: "too long" });
    expect(errorsFrom(error)).toEqual({ project: "Must be a name.", title: "Too long." });
  });

  it("is shown for the whole form if it belongs to no field", () => {
    expect(errorsFrom(new ApiError(409, "the project was deleted"))).toEqual({ whole: "The project was deleted." });
    expect(errorsFrom(new TypeError("fetch failed"))).toHaveProperty("whole");
  });
});
