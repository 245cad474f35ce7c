import { expect, it } from "vitest";
import { acceptanceCommands } from "./acceptance-commands";

it("lists the project's commands before the ticket's own, marked as the project's", () => {
  expect(acceptanceCommands(["make test"], ["python3 app.py"])).toEqual([
    { text: "make test", isFromProject: true },
    { text: "python3 app.py", isFromProject: false },
  ]);
});
