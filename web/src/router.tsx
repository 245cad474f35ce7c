import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { Broken } from "./shell/page-error";
import { NotFound } from "./shell/not-found";
import { Shell } from "./shell/shell";
import { preloadedComponent } from "./ui/loading/lazy";
import { Loading } from "./ui/loading/placeholders";
import { boardSearch, sandboxSearch, sandboxesSearch, activitySearch, compareSearch } from "./search";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const board = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: boardSearch,
  component: preloadedComponent("the page", () => import("./tickets/board/board-page").then((module) => module.BoardPage)),
});

const ticket = createRoute({
  getParentRoute: () => root,
  path: "/tickets/$ticketId",
  component: preloadedComponent("the page", () => import("./tickets/detail/ticket-page").then((module) => module.TicketPage)),
});

const sandboxes = createRoute({
  getParentRoute: () => root,
  path: "/sandboxes",
  validateSearch: sandboxesSearch,
  component: preloadedComponent("the page", () => import("./sandboxes/list/list-page").then((module) => module.SandboxesPage)),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/sandboxes/compare",
  validateSearch: compareSearch,
  component: preloadedComponent("the page", () => import("./sandboxes/compare/compare-page").then((module) => module.ComparePage)),
});

const newSandbox = createRoute({
  getParentRoute: () => root,
  path: "/sandbox/new",
  component: preloadedComponent("the page", () => import("./sandboxes/create/new-sandbox-page").then((module) => module.NewSandboxPage)),
});

const sandbox = createRoute({
  getParentRoute: () => root,
  path: "/sandbox/$sandboxId",
  validateSearch: sandboxSearch,
  component: preloadedComponent("the page", () => import("./sandboxes/page/sandbox-page").then((module) => module.SandboxPage)),
});

const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  validateSearch: activitySearch,
  component: preloadedComponent("the page", () => import("./monitoring/activity/activity-page").then((module) => module.ActivityPage)),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health-overview",
  component: preloadedComponent("the page", () => import("./monitoring/health/health-page").then((module) => module.HealthPage)),
});

const projects = createRoute({
  getParentRoute: () => root,
  path: "/projects",
  component: preloadedComponent("the page", () => import("./projects/settings/projects-page").then((module) => module.ProjectsPage)),
});

const project = createRoute({
  getParentRoute: () => root,
  path: "/projects/$projectId",
  component: preloadedComponent("the page", () => import("./projects/settings/project-page").then((module) => module.ProjectPage)),
});

const access = createRoute({
  getParentRoute: () => root,
  path: "/settings/access",
  component: preloadedComponent("the page", () => import("./settings/access/access-page").then((module) => module.AccessPage)),
});

const users = createRoute({
  getParentRoute: () => root,
  path: "/settings/users",
  component: preloadedComponent("the page", () => import("./settings/users/users-page").then((module) => module.UsersPage)),
});

const credentials = createRoute({
  getParentRoute: () => root,
  path: "/settings/credentials",
  component: preloadedComponent("the page", () =>
    import("./settings/credentials/credentials-page").then((module) => module.CredentialsPage),
  ),
});

export const router = createRouter({
  routeTree: root.addChildren([board, ticket, sandboxes, compare, newSandbox, sandbox, activity, health, projects, project, access, users, credentials]),
  defaultErrorComponent: Broken,
  defaultPendingComponent: () => <Loading what="the page" />,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
