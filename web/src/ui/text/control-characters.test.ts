import { describe, expect, it } from "vitest";
import { writeOut, writeOutDiff } from "./control-characters";

describe("writing out what would act", () => {
  it("shows escapes, C1 and bidi controls as text", () => {
    expect(writeOut("a\u001b[2Jb\u009bc\u202ed\u2066e")).toBe("a\\x1b[2Jb\\x9bc\\u202ed\\u2066e");
  });

  it("leaves tabs, newlines and other scripts alone", () => {
    expect(writeOut("a\tb\nc é 漢字 🙂 👩\u200d💻 می\u200cخواهم")).toBe("a\tb\nc é 漢字 🙂 👩\u200d💻 می\u200cخواهم");
  });

  it("shows tag characters, which no font draws", () => {
    expect(writeOut("x\u{e0041}")).toBe("x\\u{e0041}");
  });

  it("shows a carriage return that would hide what stands before it", () => {
    expect(writeOut("secret\rharmless\r\n")).toBe("secret\\rharmless\n");
  });

  it("keeps the line ends of a diff", () => {
    expect(writeOutDiff("+a\r\n-b\n")).toBe("+a\r\n-b\n");
    expect(writeOutDiff("+a\rb\n")).toBe("+a\\rb\n");
  });
});
