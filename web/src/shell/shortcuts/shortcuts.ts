import { useEffect, useRef } from "react";
import { advance, isTyping, nameOf } from "./key-matching";

/** One keyboard shortcut. */
export interface Shortcut {
  /** Presses separated by spaces (`g b`); alternatives as a list. `mod` is Ctrl or Command. */
  keys: string | readonly string[];
  /** What it does, as the shortcuts dialog shows it. */
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Also works while typing. */
  whileTyping?: boolean;
}

export interface ShortcutGroup {
  name: string;
  bindings: readonly Shortcut[];
}

/** The longest pause between two presses of a sequence. */
const PATIENCE_MS = 1_200;

/** All registered shortcuts. If two use the same keys, the later one wins: a page's over the global one. */
class ShortcutRegistry {
  #groups: ShortcutGroup[] = [];
  #pending = "";
  #pressedAt = 0;

  /** The groups of the shortcuts dialog: global ones first, then the page's. */
  get groups(): readonly ShortcutGroup[] {
    return this.#groups;
  }

  add(group: ShortcutGroup): () => void {
    this.#groups = [...this.#groups, group];
    return () => {
      this.#groups = this.#groups.filter((each) => each !== group);
    };
  }

  handle = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing || isBehindDialog()) return;
    const isWriting = isTyping(event.target);
    const bindings = this.#groups
      .flatMap((group) => group.bindings)
      .filter((binding) => !isWriting || binding.whileTyping === true);
    const pressed = event.timeStamp - this.#pressedAt < PATIENCE_MS ? this.#pending : "";
    const { complete, pending } = advance(pressed, nameOf(event), bindings.flatMap(keysOf));
    this.#pending = pending;
    this.#pressedAt = event.timeStamp;
    if (complete === null) return;
    const found = bindings.findLast((binding) => keysOf(binding).includes(complete));
    if (found === undefined) return;
    event.preventDefault();
    found.run(event);
  };
}

export const shortcutRegistry = new ShortcutRegistry();

export function keysOf(binding: Shortcut): readonly string[] {
  return typeof binding.keys === "string" ? [binding.keys] : binding.keys;
}

/** An open dialog handles keys itself. */
function isBehindDialog(): boolean {
  return document.querySelector("[role=dialog][data-state=open], [role=alertdialog][data-state=open]") !== null;
}

/** Register shortcuts while the component is mounted. `name` is their heading in the shortcuts dialog. */
export function useShortcuts(name: string, bindings: readonly Shortcut[]): void {
  const newest = useRef(bindings);
  useEffect(() => {
    newest.current = bindings;
  });
  const shape = JSON.stringify(bindings.map(({ keys, label, whileTyping }) => ({ keys, label, whileTyping })));
  useEffect(() => {
    const plain = JSON.parse(shape) as Omit<Shortcut, "run">[];
    return shortcutRegistry.add({
      name,
      bindings: plain.map((each, index) => ({ ...each, run: (event) => newest.current[index]?.run(event) })),
    });
  }, [name, shape]);
}
