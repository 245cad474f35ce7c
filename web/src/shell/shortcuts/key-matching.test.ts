// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { advance, isTyping, nameOf, shown } from "./key-matching";

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  nameOf({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

describe("the name of a key press", () => {
  it("is the resulting key, with or without Shift", () => {
    expect([press("c"), press("?"), press("ArrowDown")]).toEqual(["c", "?", "ArrowDown"]);
  });

  it("is the same for Ctrl and Command", () => {
    expect(press("k", { ctrlKey: true })).toBe("mod+k");
    expect(press("K", { metaKey: true })).toBe("mod+k");
  });
});

describe("a sequence", () => {
  const known = ["c", "g b", "g s", "mod+k"];

  it("is complete at once if it is one press", () => {
    expect(advance("", "c", known)).toEqual({ complete: "c", pending: "" });
  });

  it("waits for its second press", () => {
    expect(advance("", "g", known)).toEqual({ complete: null, pending: "g" });
    expect(advance("g", "s", known)).toEqual({ complete: "g s", pending: "" });
  });

  it("is abandoned when another key is pressed, and that press counts", () => {
    expect(advance("g", "c", known)).toEqual({ complete: "c", pending: "" });
    expect(advance("g", "x", known)).toEqual({ complete: null, pending: "" });
  });

  it("can be restarted in the middle", () => {
    expect(advance("g", "g", known)).toEqual({ complete: null, pending: "g" });
  });
});

describe("typing", () => {
  it("is detected in inputs, not on the page", () => {
    document.body.innerHTML = "<input id=field><div role=menu><a id=item></a></div><button id=button></button>";
    const found = ["field", "item", "button"].map((id) => isTyping(document.getElementById(id)));
    expect(found).toEqual([true, true, false]);
    expect(isTyping(null)).toBe(false);
  });
});

describe("labels of a sequence", () => {
  it("name each press", () => {
    expect(shown("g b", false)).toEqual(["g", "b"]);
    expect(shown("mod+k", false)).toEqual(["Ctrl K"]);
    expect(shown("mod+Enter", true)).toEqual(["⌘ Enter"]);
    expect(shown("ArrowDown", false)).toEqual(["↓"]);
  });
});
