import { describe, expect, it } from "vitest";
import { coloured, linesOf, plain } from "./ansi-text";

const ESC = "\u001b";

describe("a program's output", () => {
  it("keeps its colours", () => {
    const [line] = linesOf(`${ESC}[32mPASS${ESC}[0m a ${ESC}[1;31mFAIL${ESC}[0m`);
    expect(line?.map((span) => [span.text, span.hue, span.bold])).toEqual([
      ["PASS", "green", false],
      [" a ", null, false],
      ["FAIL", "red", true],
    ]);
  });

  it("continues a colour on the next line", () => {
    expect(linesOf(`${ESC}[31ma\nb${ESC}[0m`).map((line) => line[0]?.hue)).toEqual(["red", "red"]);
  });

  it("maps numbered and RGB colours to hues", () => {
    const [line] = linesOf(`${ESC}[38;5;196mx${ESC}[0m${ESC}[38;2;20;220;40my${ESC}[0m`);
    expect(line?.map((span) => span.hue)).toEqual(["red", "green"]);
  });

  it.each([
    ["a clipboard (OSC 52)", `a${ESC}]52;c;ZXZpbA==\u0007b`, "ab"],
    ["a clipboard ended by ST", `a${ESC}]52;c;ZXZpbA==${ESC}\\b`, "ab"],
    ["a link (OSC 8)", `${ESC}]8;;javascript:alert(1)\u0007click${ESC}]8;;\u0007`, "click"],
    ["a title", `a${ESC}]0;root@host\u0007b`, "ab"],
    ["a cleared screen", `a${ESC}[2J${ESC}[Hb`, "ab"],
    ["cursor moves", `a${ESC}[10A${ESC}[2Kb`, "ab"],
    ["a reset", `a${ESC}cb`, "ab"],
    ["a device string", `a${ESC}Pq#0;2${ESC}\\b`, "ab"],
    ["C1 sequences", "a\u009b2Jb\u009d52;c;QQ==\u009cc", "abc"],
    ["a bidi override", "a\u202eb\u2066c", "a\\u202eb\\u2066c"],
    ["a string without an end", `a${ESC}]52;c;ZXZpbA==`, "a\\x1b]52;c;ZXZpbA=="],
    ["a lone escape", `a${ESC}`, "a\\x1b"],
    ["backspaces", "evil\b\b\b\bgood", "evil\\x08\\x08\\x08\\x08good"],
    ["a bell and a null", "a\u0007\u0000b", "a\\x07\\x00b"],
  ])("does not act on %s", (_name, text, shown) => {
    expect(plain(text)).toBe(shown);
  });

  it("cannot hide a line under a carriage return", () => {
    expect(plain("rm -rf /\recho hello\r\n")).toBe("rm -rf /\necho hello\n");
  });

  it("shows concealed text", () => {
    const [line] = linesOf(`${ESC}[8mhidden${ESC}[0m`);
    expect(line?.[0]?.text).toBe("hidden");
  });

  it("removes everything but colours", () => {
    // oxlint-disable-next-line no-control-regex
    expect(coloured(`${ESC}[1m${ESC}[?25l${ESC}[>4;2m${ESC}[4:3mx`).match(/\u001b\[[^a-z]*[a-z]/gi)).toEqual([`${ESC}[1m`, `${ESC}[4;3m`]);
  });

  it("stays quick with hostile text", () => {
    const startedAt = performance.now();
    coloured(`${ESC}]52;c;`.repeat(100_000));
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
