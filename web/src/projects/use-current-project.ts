import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { sandboxQuery } from "@/sandboxes/queries";
import { ticketQuery } from "@/tickets/queries";
import { projectsQuery } from "./queries";

/** Return the project that the page is about: its filter, its ticket's or its sandbox's; else the only project. */
export function useCurrentProject(): string | undefined {
  const queries = useQueryClient();
  const { project } = useSearch({ strict: false });
  const { ticketId, sandboxId } = useParams({ strict: false });
  const projects = useQuery(projectsQuery).data;
  const ticket = ticketId === undefined ? undefined : queries.getQueryData(ticketQuery(ticketId).queryKey);
  const sandbox = sandboxId === undefined ? undefined : queries.getQueryData(sandboxQuery(sandboxId).queryKey);
  return currentOf(projects, project ?? ticket?.project_id ?? sandbox?.project_id);
}

/** Return the page's project where it is one of the projects, else the only one; undefined while none are loaded. */
export function currentOf(projects: readonly { id: string }[] | undefined, page: string | undefined): string | undefined {
  if (projects?.some(({ id }) => id === page)) return page;
  return projects?.length === 1 ? projects[0]?.id : undefined;
}
