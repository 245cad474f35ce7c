import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { api, unwrap } from "@/api/client";
import { usePageTitle } from "@/shell/page-title";
import { Badge } from "@/ui/badge";
import { LoadError, Loading } from "@/ui/loading/placeholders";
import { Members } from "../members/members";
import { ROLES } from "../members/queries";
import { projectName, projectsQuery } from "../queries";

/** The settings of one project. */
export function ProjectPage() {
  const { projectId } = useParams({ from: "/projects/$projectId" });
  const project = useQuery({
    // Below the list's key, so that a change of the list reloads this project as well.
    queryKey: [...projectsQuery.queryKey, projectId],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/projects/{project_id}", { params: { path: { project_id: projectId } }, signal })),
  });
  usePageTitle(project.data === undefined ? "Project" : projectName(project.data));
  if (project.isPending) return <Loading what="the project" />;
  // A member who has left keeps what was loaded before: show that it is gone.
  if (project.data === undefined || project.isError) return <LoadError what="The project" error={project.error} retry={() => void project.refetch()} />;
  return (
    <div className="mx-auto max-w-4xl space-y-6 p-4">
      <header>
        <h1 className="flex flex-wrap items-center gap-2 text-lg font-semibold">
          <span className="[overflow-wrap:anywhere]">{projectName(project.data)}</span>
          <Badge>{ROLES[project.data.role]}</Badge>
        </h1>
        {project.data.description ? <p className="text-soft [overflow-wrap:anywhere]">{project.data.description}</p> : null}
      </header>
      <Members project={project.data} />
    </div>
  );
}
