import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode } from "react";
import { cn } from "./cn";
import { JumpButton } from "./jump-button";
import { useTail } from "./use-tail";

/** Rows of any number and height in a box that scrolls: only those in sight are drawn, the end is followed from the end. */
export function VirtualRows<T>(props: {
  label: string;
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  /** How high a row will be, about, until it is measured. */
  heightOf: (row: T) => number;
  render: (row: T) => ReactNode;
  className?: string;
}) {
  const { rows } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react-hooks-js/incompatible-library -- nothing of it is passed on
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => {
      const row = rows[index];
      return row === undefined ? 40 : props.heightOf(row);
    },
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : props.keyOf(row);
    },
    overscan: 6,
  });
  const tail = useTail(scroller, rows.length, () => virtual.scrollToIndex(rows.length - 1, { align: "end" }));
  return (
    <div className="relative h-full min-h-0">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard */}
      <div ref={scroller} onScroll={tail.onScroll} role="log" aria-live="off" aria-label={props.label} tabIndex={0} className={cn("h-full overflow-auto -outline-offset-2", props.className)}>
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return row === undefined ? null : (
              <div
                key={item.key}
                data-index={item.index}
                ref={virtual.measureElement}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {props.render(row)}
              </div>
            );
          })}
        </div>
      </div>
      {tail.isAtEnd ? null : <JumpButton fresh={tail.fresh} onJump={tail.jump} />}
    </div>
  );
}
