import { Tabs } from "radix-ui";
import { Activity, type ReactNode, useState } from "react";
import type { View } from "@/search";
import { preloadedComponent } from "@/ui/loading/lazy";
import { LazyBoundary } from "@/ui/loading/boundary";
import type { ViewProps } from "./view";

const ChangesView = preloadedComponent("the changes", () => import("../changes/changes-view").then((module) => module.ChangesView));
const TerminalView = preloadedComponent("the terminal", () => import("../terminal/terminal-view").then((module) => module.TerminalView));
const DetailsView = preloadedComponent("the details", () => import("../details/details-view").then((module) => module.DetailsView));

const LABELS: Record<View, string> = { timeline: "Timeline", changes: "Changes", terminal: "Terminal", details: "Details" };

/** The views of a sandbox, one at a time; each scrolls independently. */
export function Panes(props: {
  view: View;
  views: readonly View[];
  onView: (view: View) => void;
  viewProps: ViewProps;
  /** The content of the timeline's tab, if there is one. */
  timeline?: ReactNode;
}) {
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
      {props.views.map((view) => (
        <Tabs.Content
          key={view}
          value={view}
          tabIndex={-1}
          forceMount={view === "timeline" ? true : undefined}
          hidden={view !== props.view}
          className="min-h-0 flex-1 overflow-auto outline-none"
        >
          <LazyBoundary what={`the ${LABELS[view].toLowerCase()}`}>
            {view === "timeline" ? (
              <Kept isShown={view === props.view}>{props.timeline}</Kept>
            ) : (
              <ViewBody view={view} viewProps={props.viewProps} />
            )}
          </LazyBoundary>
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

/** Keeps its scroll position and input while another view is shown. Hidden, it does not render. */
function Kept({ isShown, children }: { isShown: boolean; children: ReactNode }) {
  const [wasShown, setShown] = useState(isShown);
  if (isShown && !wasShown) setShown(true);
  return <Activity mode={isShown ? "visible" : "hidden"}>{wasShown ? children : null}</Activity>;
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
