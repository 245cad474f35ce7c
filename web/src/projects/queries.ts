import { queryOptions, useQuery } from "@tanstack/react-query";
import { unwrap, api, type Project } from "@/api/client";

/** Every project that the user can see, newest first. */
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

/** Return a project that the user can see; undefined until the projects are loaded. */
export function useProject(projectId: string | undefined): Project | undefined {
  return useQuery(projectsQuery).data?.find(({ id }) => id === projectId);
}

/** Return the name of a project: its repository, if it has one. */
export function projectName(project: Project): string {
  const { github_owner: owner, github_repo: repository } = project;
  return owner !== null && repository !== null ? `${owner}/${repository}` : project.name;
}

/** Return the names of all projects by id. */
export function useProjectNames(): ReadonlyMap<string, string> {
  const names = useQuery({ ...projectsQuery, select: namesById });
  return names.data ?? NONE;
}

const NONE: ReadonlyMap<string, string> = new Map();

function namesById(projects: Project[]): ReadonlyMap<string, string> {
  return new Map(projects.map((project) => [project.id, projectName(project)]));
}
