import { Tabs } from "radix-ui";
import { Activity, type ReactNode, useState } from "react";
import type { View } from "@/search";
import { later } from "@/ui/later";
import { Part } from "@/ui/part";
import type { ViewProps } from "../view";

const ChangesView = later("Changes", () => import("../changes/changes-view").then((module) => module.ChangesView));
const TerminalView = later("Terminal", () => import("../terminal/terminal-view").then((module) => module.TerminalView));
const DetailsView = later("Details", () => import("../details/details-view").then((module) => module.DetailsView));

const LABELS: Record<View, string> = { timeline: "Timeline", changes: "Changes", terminal: "Terminal", details: "Details" };

const PANE = "min-h-0 flex-1 overflow-auto outline-none";

/** Views of a sandbox, one at a time; each scrolls by itself. */
export function Panes(props: {
  view: View;
  views: readonly View[];
  onView: (view: View) => void;
  viewProps: ViewProps;
  /** What the timeline's tab shows, where it has one. */
  timeline?: ReactNode;
}) {
  const hasTimeline = useOnce(props.view === "timeline");
  return (
    <Tabs.Root
      value={props.view}
      onValueChange={(value) => props.onView(value as View)}
      className="flex h-full min-h-0 min-w-0 flex-col"
    >
      <Tabs.List aria-label="Views" className="flex h-10 shrink-0 items-stretch gap-1 border-b bg-surface px-2">
        {props.views.map((view) => (
          <Tabs.Trigger
            key={view}
            value={view}
            className="border-b-2 border-transparent px-2.5 text-sm font-medium text-soft hover:text-text focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:text-text"
          >
            {LABELS[view]}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {props.views.map((view) =>
        view === "timeline" ? (
          <Tabs.Content key={view} value={view} tabIndex={-1} forceMount hidden={props.view !== view} className={PANE}>
            <Part what="timeline">
              {/* It keeps its place, and what is written there, while another view is looked at; hidden, it does nothing. */}
              <Activity mode={props.view === view ? "visible" : "hidden"}>{hasTimeline ? props.timeline : null}</Activity>
            </Part>
          </Tabs.Content>
        ) : (
          <Tabs.Content key={view} value={view} tabIndex={-1} className={PANE}>
            <Part what={LABELS[view].toLowerCase()}>
              <ViewBody view={view} viewProps={props.viewProps} />
            </Part>
          </Tabs.Content>
        ),
      )}
    </Tabs.Root>
  );
}

/** Whether it is so, or was before. */
function useOnce(isSo: boolean): boolean {
  const [was, setWas] = useState(isSo);
  if (isSo && !was) setWas(true);
  return was || isSo;
}

function ViewBody({ view, viewProps }: { view: Exclude<View, "timeline">; viewProps: ViewProps }) {
  switch (view) {
    case "changes":
      return <ChangesView {...viewProps} />;
    case "terminal":
      return <TerminalView {...viewProps} />;
    case "details":
      return <DetailsView {...viewProps} />;
  }
}
