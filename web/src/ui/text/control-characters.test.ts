import { describe, expect, it } from "vitest";
import { escapeControls, escapeControlsInDiff } from "./control-characters";

describe("escaping control characters", () => {
  it("escapes C0, C1 and bidi controls", () => {
    expect(escapeControls("a\u001b[2Jb\u009bc\u202ed\u2066e")).toBe("a\\x1b[2Jb\\x9bc\\u202ed\\u2066e");
  });

  it("leaves tabs, newlines and other scripts alone", () => {
    expect(escapeControls("a\tb\nc é 漢字 🙂 👩\u200d💻 می\u200cخواهم")).toBe("a\tb\nc é 漢字 🙂 👩\u200d💻 می\u200cخواهم");
  });

  it("escapes tag characters, which no font shows", () => {
    expect(escapeControls("x\u{e0041}")).toBe("x\\u{e0041}");
  });

  it("escapes a carriage return that would hide the text before it", () => {
    expect(escapeControls("secret\rharmless\r\n")).toBe("secret\\rharmless\n");
  });

  it("keeps the line endings of a diff", () => {
    expect(escapeControlsInDiff("+a\r\n-b\n")).toBe("+a\r\n-b\n");
    expect(escapeControlsInDiff("+a\rb\n")).toBe("+a\\rb\n");
  });
});
