import { useEffect } from "react";
import type { BoardSearch } from "@/search";

let last: BoardSearch = {};

/** Keep what the board shows, for the way back to it. */
export function useBoardReturn(filter: BoardSearch): void {
  useEffect(() => {
    last = filter;
  }, [filter]);
}

/** The filters that the board had when it was last seen. */
export function boardReturn(): BoardSearch {
  return last;
}
