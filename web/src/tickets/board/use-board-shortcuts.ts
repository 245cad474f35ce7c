import { useEffect, useRef, type RefObject } from "react";
import { useShortcuts } from "@/shell/shortcuts/shortcuts";
import { neighbour, type Direction } from "./card-navigation";

const CARD = "[data-card]";

/** Move the focus between cards with keys, and keep it on a card that changes its column. */
export function useBoardShortcuts(): RefObject<HTMLDivElement | null> {
  const board = useRef<HTMLDivElement>(null);
  useKeptFocus(board);

  function move(direction: Direction) {
    const root = board.current;
    if (root === null) return;
    const columns = Array.from(root.querySelectorAll("section"), (column) =>
      Array.from(column.querySelectorAll<HTMLElement>(CARD), (card) => card.dataset.card ?? ""),
    );
    focusCard(root, neighbour(columns, cardOf(document.activeElement), direction));
  }

  useShortcuts("Board", [
    { keys: ["j", "ArrowDown"], label: "Next card (Enter opens it)", run: () => move("down") },
    { keys: ["k", "ArrowUp"], label: "Previous card", run: () => move("up") },
    { keys: ["h", "ArrowLeft"], label: "Previous column", run: () => move("left") },
    { keys: ["l", "ArrowRight"], label: "Next column", run: () => move("right") },
    { keys: "/", label: "Search tickets", run: () => document.getElementById("board-search")?.focus() },
  ]);
  return board;
}

function cardOf(element: Element | null): string | null {
  return element?.closest<HTMLElement>(CARD)?.dataset.card ?? null;
}

function focusCard(root: HTMLElement, id: string | undefined): void {
  if (id === undefined) return;
  const link = root.querySelector<HTMLElement>(`[data-card="${CSS.escape(id)}"] a`);
  link?.focus();
  link?.closest(CARD)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** A card in another column is a new element, so the focus must be moved. */
function useKeptFocus(board: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const root = board.current;
    if (root === null) return;
    let focused: string | null = null;
    const remember = (event: FocusEvent) => {
      focused = cardOf(event.target as Element);
    };
    const follow = new MutationObserver(() => {
      if (focused === null || (document.activeElement !== null && document.activeElement !== document.body)) return;
      focusCard(root, focused);
    });
    const leave = (event: FocusEvent) => {
      const left = event.target as Element;
      setTimeout(() => {
        if (left.isConnected && !root.contains(document.activeElement)) focused = null;
      });
    };
    root.addEventListener("focusin", remember);
    root.addEventListener("focusout", leave);
    follow.observe(root, { childList: true, subtree: true });
    return () => {
      follow.disconnect();
      root.removeEventListener("focusin", remember);
      root.removeEventListener("focusout", leave);
    };
  }, [board]);
}
