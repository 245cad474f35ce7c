import { useRef } from "react";

/** Remember the focused element when a dialog opens, and focus it again afterwards; if it is gone, focus the content. */
export function useFocusReturn(): { remember: () => void; giveBack: (event: Event) => void } {
  const opener = useRef<Element | null>(null);
  return {
    remember() {
      opener.current = document.activeElement;
    },
    giveBack(event) {
      // By default a dialog without a trigger would lose the focus.
      event.preventDefault();
      const { current } = opener;
      const isThere = current instanceof HTMLElement && current.isConnected && current !== document.body;
      const target = isThere ? current : document.getElementById("main");
      target?.focus({ preventScroll: true });
    },
  };
}
