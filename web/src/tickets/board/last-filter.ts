import { useEffect } from "react";
import type { BoardSearch } from "@/search";

let last: BoardSearch = {};

/** Remember the board's filters for the way back. */
export function useRememberFilter(filter: BoardSearch): void {
  useEffect(() => {
    last = filter;
  }, [filter]);
}

/** Return the filters of the last visit to the board. */
export function lastFilter(): BoardSearch {
  return last;
}
