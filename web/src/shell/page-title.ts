import { useEffect } from "react";

/** Set the page's title in the browser tab. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? "OmoiOS" : `${title} · OmoiOS`;
  }, [title]);
}
