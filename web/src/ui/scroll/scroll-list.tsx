import type { VirtualItem } from "@tanstack/react-virtual";
import type { ComponentProps, ReactNode, RefObject } from "react";
import { cn } from "../cn";
import { JumpButton } from "./jump-button";
import type { Scrolling } from "./use-scroll";

/** The container of a virtual list: only visible items are rendered. */
export function ScrollList({ box, scrolling, render, outer, inner }: {
  box: RefObject<HTMLDivElement | null>;
  scrolling: Scrolling;
  render: (place: VirtualItem) => ReactNode;
  /** ARIA attributes of the container. */
  outer?: ComponentProps<"div">;
  inner?: ComponentProps<"div">;
}) {
  const { virtualizer, fresh, state, onScroll, onTouch, toLatest } = scrolling;
  return (
    <div className="relative h-full min-h-0">
      <div
        {...outer}
        ref={box}
        onScroll={onScroll}
        onWheel={(event) => {
          if (event.deltaY < 0) onTouch();
        }}
        onTouchMove={onTouch}
        onPointerDown={(event) => {
          if (event.target === event.currentTarget) onTouch();
        }}
        className={cn("h-full overflow-auto [overflow-anchor:none]", outer?.className)}
      >
        <div {...inner} className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(render)}
        </div>
      </div>
      {state.intent === "hold" ? <JumpButton fresh={fresh} onJump={toLatest} /> : null}
    </div>
  );
}
