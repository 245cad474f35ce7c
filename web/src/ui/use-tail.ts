import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from "react";

const NEAR_PX = 64;

/** Follows the end of what scrolls, but only from the end; whoever has scrolled away stays and can jump back. */
export function useTail(scroller: RefObject<HTMLElement | null>, length: number, toEnd: () => void) {
  const [isAtEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState(length);
  const follows = useRef(true);
  const end = useRef(toEnd);
  useLayoutEffect(() => {
    end.current = toEnd;
  });
  useLayoutEffect(() => {
    if (!follows.current) return;
    end.current();
    setSeen(length);
  }, [length]);
  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
    setAtEnd(follows.current);
    if (follows.current) setSeen(length);
  }, [scroller, length]);
  const jump = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    setSeen(length);
    end.current();
  }, [length]);
  return { isAtEnd, fresh: Math.max(0, length - seen), onScroll, jump };
}
