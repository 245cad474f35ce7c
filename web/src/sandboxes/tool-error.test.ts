import { expect, it } from "vitest";
import { toolError } from "./tool-error";

it("removes the CLI's tags", () => {
  expect(toolError("<tool_use_error>Error: No such tool available: Nope</tool_use_error>")).toBe("No such tool available: Nope");
  expect(toolError("File does not exist.")).toBe("File does not exist.");
});

it("shows the message of a JSON error instead of the JSON", () => {
  expect(toolError('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')).toBe("Overloaded");
  expect(toolError('{"error":"not found","status":404}')).toBe("not found");
  const issues = '[{"code":"invalid_type","path":["content"],"message":"Required"},{"path":[],"message":"Too long"}]';
  expect(toolError(`<tool_use_error>InputValidationError: ${issues}</tool_use_error>`)).toBe("InputValidationError: content: Required; Too long");
});

it("keeps output that only looks like JSON", () => {
  expect(toolError("expected { but found [")).toBe("expected { but found [");
  expect(toolError('{"rows": 3}')).toBe('{"rows": 3}');
});
