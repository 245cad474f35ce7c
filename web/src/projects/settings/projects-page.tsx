import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FolderGit2 } from "lucide-react";
import { usePageTitle } from "@/shell/page-title";
import { Badge } from "@/ui/badge";
import { Empty, LoadError, Loading } from "@/ui/loading/placeholders";
import { ROLES } from "../members/queries";
import { projectName, projectsQuery } from "../queries";

/** The projects that the user can see, with their role in each. */
export function ProjectsPage() {
  const projects = useQuery(projectsQuery);
  usePageTitle("Projects");
  if (projects.isPending) return <Loading what="projects" />;
  if (projects.data === undefined) return <LoadError what="The list of projects" error={projects.error} retry={() => void projects.refetch()} />;
  if (projects.data.length === 0)
    return (
      <Empty title="No projects yet" isPage>
        Create a ticket, and its project is created with it.
      </Empty>
    );
  return (
    <div className="mx-auto max-w-4xl space-y-3 p-4">
      <h1 className="text-lg font-semibold">Projects</h1>
      <ul className="divide-y rounded-lg border bg-surface">
        {projects.data.map((project) => (
          <li key={project.id} className="flex items-center gap-3 px-3 py-2">
            <FolderGit2 aria-hidden className="size-4 shrink-0 text-faint" />
            <Link to="/projects/$projectId" params={{ projectId: project.id }} className="min-w-0 flex-1 font-medium hover:underline [overflow-wrap:anywhere]">
              {projectName(project)}
            </Link>
            <Badge>{ROLES[project.role]}</Badge>
          </li>
        ))}
      </ul>
    </div>
  );
}
