import { useEffect } from "react";
import type { BoardSearch } from "@/search";

let last: BoardSearch = {};

/** Keep what the board shows, for the way back to it. */
export function useRememberFilter(filter: BoardSearch): void {
  useEffect(() => {
    last = filter;
  }, [filter]);
}

/** The filters that the board had when it was last seen. */
export function lastFilter(): BoardSearch {
  return last;
}
