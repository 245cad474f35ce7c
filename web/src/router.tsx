import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Broken } from "./shell/broken";
import { NotThere } from "./shell/not-there";
import { Shell } from "./shell/shell";
import { boardSearch, sandboxSearch, sandboxesSearch, activitySearch, compareSearch } from "./search";

const root = createRootRoute({ component: Shell, notFoundComponent: NotThere });

const board = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: boardSearch,
  component: lazyRouteComponent(() => import("./tickets/board-page"), "BoardPage"),
});

const ticket = createRoute({
  getParentRoute: () => root,
  path: "/tickets/$ticketId",
  component: lazyRouteComponent(() => import("./tickets/ticket-page"), "TicketPage"),
});

const sandboxes = createRoute({
  getParentRoute: () => root,
  path: "/sandboxes",
  validateSearch: sandboxesSearch,
  component: lazyRouteComponent(() => import("./sandboxes/list-page"), "SandboxesPage"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/sandboxes/compare",
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import("./sandboxes/compare-page"), "ComparePage"),
});

const newSandbox = createRoute({
  getParentRoute: () => root,
  path: "/sandbox/new",
  component: lazyRouteComponent(() => import("./sandboxes/new-page"), "NewSandboxPage"),
});

const sandbox = createRoute({
  getParentRoute: () => root,
  path: "/sandbox/$sandboxId",
  validateSearch: sandboxSearch,
  component: lazyRouteComponent(() => import("./sandboxes/sandbox-page"), "SandboxPage"),
});

const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  validateSearch: activitySearch,
  component: lazyRouteComponent(() => import("./activity/activity-page"), "ActivityPage"),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health-overview",
  component: lazyRouteComponent(() => import("./monitoring/health-page"), "HealthPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([board, ticket, sandboxes, compare, newSandbox, sandbox, activity, health]),
  defaultErrorComponent: Broken,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
