import { useRef, type ReactNode } from "react";
import { ScrollList } from "./scroll-list";
import { useScroll } from "./use-scroll";

/** A virtual list of rows of any height. It follows its end while the end is in view. */
export function VirtualRows<T>(props: {
  label: string;
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  /** Estimate the height of a row until it is measured. */
  heightOf: (row: T) => number;
  render: (row: T) => ReactNode;
  /** Identifies the list. */
  listKey?: string;
  className?: string;
}) {
  const { rows } = props;
  const box = useRef<HTMLDivElement>(null);
  const of = <R,>(index: number, read: (row: T) => R, otherwise: R): R => {
    const row = rows[index];
    return row === undefined ? otherwise : read(row);
  };
  const scrolling = useScroll(box, {
    count: rows.length,
    last: rows.length,
    listKey: props.listKey ?? "",
    keyOf: (index) => of<string | number>(index, props.keyOf, index),
    heightOf: (index) => of(index, props.heightOf, 40),
    countUpTo: (last) => last,
  });
  return (
    <ScrollList
      box={box}
      scrolling={scrolling}
      // Scrollable content must be focusable.
      outer={{ role: "log", "aria-live": "off", "aria-label": props.label, tabIndex: 0, className: props.className }}
      render={(place) => (
        <div
          key={place.key}
          data-index={place.index}
          ref={scrolling.virtualizer.measureElement}
          className="absolute inset-x-0 top-0"
          style={{ transform: `translateY(${place.start}px)` }}
        >
          {of<ReactNode>(place.index, props.render, null)}
        </div>
      )}
    />
  );
}
