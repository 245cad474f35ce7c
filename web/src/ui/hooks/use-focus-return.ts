import { useRef } from "react";

/** Keeps where the focus was when a window opened, and puts it back there; where that is gone, on the page's content. */
export function useFocusReturn(): { remember: () => void; giveBack: (event: Event) => void } {
  const opener = useRef<Element | null>(null);
  return {
    remember() {
      opener.current = document.activeElement;
    },
    giveBack(event) {
      // Of itself a window without a trigger of its own leaves the focus nowhere.
      event.preventDefault();
      const { current } = opener;
      const isThere = current instanceof HTMLElement && current.isConnected && current !== document.body;
      const target = isThere ? current : document.getElementById("main");
      target?.focus({ preventScroll: true });
    },
  };
}
