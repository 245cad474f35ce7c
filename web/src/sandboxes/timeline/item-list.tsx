import { memo, type ReactNode, type RefObject } from "react";
import { ScrollList } from "@/ui/scroll/scroll-list";
import type { Scrolling } from "@/ui/scroll/use-scroll";
import { RowCard } from "./cards/row-card";
import { RunCard } from "./cards/run-card";
import type { Item, VisibleItems } from "./items";

/** The items of the timeline, each a focusable card. */
export function ItemList(props: {
  box: RefObject<HTMLDivElement | null>;
  shown: VisibleItems;
  scrolling: Scrolling;
  current: number | null;
  onCurrent: (item: Item) => void;
}) {
  const { shown, scrolling, current } = props;
  const { state, virtualizer } = scrolling;
  const size = virtualizer.options.count;
  return (
    <div className="min-h-0 flex-1">
      <ScrollList
        box={props.box}
        scrolling={scrolling}
        inner={{ role: "feed", "aria-label": "Events" }}
        render={(place) => {
          const item = shown.items[place.index];
          if (item === undefined) return null;
          return (
            <Place
              key={place.key}
              measure={virtualizer.measureElement}
              index={place.index}
              start={place.start}
              size={size}
              isNext={place.index === (current ?? size - 1)}
              onFocus={() => props.onCurrent(item)}
            >
              <ItemCard item={item} revision={revisionOf(item)} />
            </Place>
          );
        }}
      />
      <p role="status" className="sr-only">
        {state.intent === "jump" ? `Loading event ${state.seq}` : ""}
      </p>
    </div>
  );
}

/** Articles of a feed take the focus one by one, as the ARIA feed pattern requires; Enter expands the focused one. */
function Place({ measure, index, start, size, isNext, onFocus, children }: {
  measure: (element: HTMLElement | null) => void;
  index: number;
  start: number;
  size: number;
  isNext: boolean;
  onFocus: () => void;
  children: ReactNode;
}) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      ref={measure}
      role="article"
      aria-posinset={index + 1}
      aria-setsize={size}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={isNext ? 0 : -1}
      data-index={index}
      onFocus={(event) => {
        if (event.target === event.currentTarget) onFocus();
      }}
      onKeyDown={(event) => {
        // Buttons and links handle Enter themselves.
        if (event.key !== "Enter" || event.target !== event.currentTarget) return;
        event.currentTarget.querySelector<HTMLElement>("[data-toggle]")?.click();
      }}
      className="absolute top-0 left-0 w-full px-2 [contain:layout_style] hover:z-10 focus-visible:outline-offset-[-2px]"
      style={{ transform: `translateY(${start}px)` }}
    >
      {children}
    </div>
  );
}

/** Rows change in place; the sum of their revisions shows whether any did. */
function revisionOf(item: Item): number {
  let sum = item.rows.length;
  for (const row of item.rows) sum += row.revision;
  return sum;
}

const ItemCard = memo(function ItemCard({ item }: { item: Item; revision: number }) {
  if (item.isRun) return <RunCard rows={item.rows} runKey={item.key} />;
  const row = item.rows[0];
  return row === undefined ? null : <RowCard row={row} revision={row.revision} />;
});
