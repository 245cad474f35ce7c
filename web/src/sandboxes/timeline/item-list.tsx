import { ArrowDown } from "lucide-react";
import { memo, type RefObject } from "react";
import { Button } from "@/ui/button";
import { RowCard } from "./cards/row-card";
import { RunCard } from "./cards/run-card";
import type { Item, Shown } from "./shown";
import type { Scrolling } from "./use-scroll";

/** The items that are in sight, each where it belongs; those that are not take no part of the page. */
export function ItemList({
  box,
  shown,
  scrolling: { virtualizer, fresh, state, onScroll, onTouch, toLatest },
  current,
  onCurrent,
}: {
  box: RefObject<HTMLDivElement | null>;
  shown: Shown;
  scrolling: Scrolling;
  current: number | null;
  onCurrent: (item: Item) => void;
}) {
  const places = virtualizer.getVirtualItems();
  const size = virtualizer.options.count;
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={onScroll}
        onWheel={(event) => {
          if (event.deltaY < 0) onTouch();
        }}
        onTouchMove={onTouch}
        onPointerDown={(event) => {
          if (event.target === event.currentTarget) onTouch();
        }}
        className="h-full overflow-auto [overflow-anchor:none]">
        <div role="feed" aria-label="Events" className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          {places.map((place) => {
            const item = shown.items[place.index];
            if (item === undefined) return null;
            return (
              // A feed's articles take the focus one by one, as its pattern of use asks.
              // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
              <div
                key={place.key}
                ref={virtualizer.measureElement}
                role="article"
                aria-posinset={place.index + 1}
                aria-setsize={size}
                // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
                tabIndex={place.index === (current ?? size - 1) ? 0 : -1}
                data-index={place.index}
                onFocus={(event) => {
                  if (event.target === event.currentTarget) onCurrent(item);
                }}
                onKeyDown={(event) => {
                  // Enter on a button or a link is theirs; on the row itself it opens the row.
                  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
                  event.currentTarget.querySelector<HTMLElement>("[data-toggle]")?.click();
                }}
                className="absolute top-0 left-0 w-full px-2 [contain:layout_style] hover:z-10 focus-visible:outline-offset-[-2px]"
                style={{ transform: `translateY(${place.start}px)` }}
              >
                <ItemCard item={item} revision={revisionOf(item)} />
              </div>
            );
          })}
        </div>
      </div>
      {state.intent === "hold" ? (
        <div className="pointer-events-none absolute inset-x-0 bottom-3 flex justify-center">
          <Button size="small" className="pointer-events-auto rounded-full shadow-lg" onClick={toLatest}>
            <ArrowDown /> Jump to latest{fresh > 0 ? ` (${fresh} new)` : ""}
          </Button>
        </div>
      ) : null}
      <p role="status" className="sr-only">
        {state.intent === "jump" ? `Going to event ${state.seq}` : ""}
      </p>
    </div>
  );
}

/** Rows are changed in place, so the sum of their revisions tells whether any of them was. */
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
