import { Select } from "@/ui/form/field";
import { useProjectNames } from "./queries";

/** A filter for one project. */
export function ProjectSelect({ project, onChange }: { project: string | undefined; onChange: (project: string | undefined) => void }) {
  const projects = useProjectNames();
  if (projects.size < 2 && project === undefined) return null;
  return (
    <Select aria-label="Project" title={projects.get(project ?? "")} className="max-w-44" value={project ?? ""} onChange={({ target }) => onChange(target.value || undefined)}>
      <option value="">All projects</option>
      {project === undefined || projects.has(project) ? null : <option value={project}>Unknown project</option>}
      {Array.from(projects, ([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  );
}
