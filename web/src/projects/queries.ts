import { queryOptions, useQuery } from "@tanstack/react-query";
import { unwrap, api, type Project } from "@/api/client";

/** Every project that one may see, newest first. */
export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }): Promise<Project[]> => {
    const found: Project[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { limit: 200, cursor };
      const page = await unwrap(api.GET("/api/v1/projects", { params: { query }, signal }));
      found.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor);
    return found;
  },
});

/** What a project is called: its repository where it has one. */
export function projectName(project: Project): string {
  const { github_owner: owner, github_repo: repository } = project;
  return owner !== null && repository !== null ? `${owner}/${repository}` : project.name;
}

/** The names of projects by their ids. */
export function useProjectNames(): ReadonlyMap<string, string> {
  const names = useQuery({ ...projectsQuery, select: namesById });
  return names.data ?? NONE;
}

const NONE: ReadonlyMap<string, string> = new Map();

function namesById(projects: Project[]): ReadonlyMap<string, string> {
  return new Map(projects.map((project) => [project.id, projectName(project)]));
}
