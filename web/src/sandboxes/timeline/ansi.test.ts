import { describe, expect, it } from "vitest";
import { plain, spans, tame } from "./ansi";

const text = (value: string) => spans(value).map((span) => span.text).join("");

describe("output with escapes", () => {
  it("keeps colours as the page's own", () => {
    expect(spans("\u001b[1;31mred\u001b[0m plain")).toEqual([
      { text: "red", className: "text-bad font-semibold" },
      { text: " plain", className: "" },
    ]);
  });

  it("lets nothing move, set a title, write the clipboard or make a link", () => {
    expect(text("a\u001b[2Jb\u001b[3;4Hc\u001b]0;title\u0007d\u001b]52;c;aGk=\u001b\\e")).toBe("abcde");
    expect(text("\u001b]8;;javascript:alert(1)\u001b\\click\u001b]8;;\u001b\\")).toBe("click");
    expect(text("a\u009b31mb\u001bPq#0\u001b\\c")).toBe("a31mbc");
  });

  it("drops the rest of a sequence that never ends", () => {
    expect(text("ok\u001b]0;never ends")).toBe("ok");
  });

  it("spells out what would reorder or hide text", () => {
    expect(tame("safe\u202etxt.exe\u0000")).toBe("safe\\u202etxt.exe\\u0000");
  });

  it("shows of a line that was written over what was written last", () => {
    expect(plain("10%\r50%\r100%\r\nnext")).toBe("100%\nnext");
  });

  it("leaves markup as text", () => {
    expect(spans("\u001b[32m<img src=x onerror=alert(1)>\u001b[0m")[0]?.text).toBe("<img src=x onerror=alert(1)>");
  });
});
