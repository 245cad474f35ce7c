import { type RefObject, useEffect, useRef } from "react";

export interface Keys {
  move(step: 1 | -1): void;
  toggle(): void;
  error(direction: 1 | -1): void;
  latest(): void;
}

/** The timeline's keys, from anywhere on the page but where one types. */
export function useKeys(searchBox: RefObject<HTMLInputElement | null>, keys: Keys): void {
  const newest = useRef(keys);
  useEffect(() => {
    newest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const action = actionOf(event, newest.current, searchBox);
      if (action === null) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [searchBox]);
}

function actionOf(event: KeyboardEvent, keys: Keys, searchBox: RefObject<HTMLInputElement | null>): (() => void) | null {
  switch (event.key) {
    case "j":
      return () => keys.move(1);
    case "k":
      return () => keys.move(-1);
    case "e":
      return () => keys.error(1);
    case "E":
      return () => keys.error(-1);
    case "G":
      return () => keys.latest();
    case "/":
      return () => searchBox.current?.focus();
    case "Enter":
      return isRow(event.target) ? () => keys.toggle() : null;
    default:
      return null;
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('[role="dialog"]') !== null);
}

/** Enter on a button or a link is theirs; on a row it opens the row. */
function isRow(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.getAttribute("role") === "article";
}
