import { useQuery } from "@tanstack/react-query";
import { Field, Input, Select } from "@/ui/form/field";
import { projectName, projectsQuery } from "./queries";

const NEW = "new";

/** A choice between the existing projects and a new one. */
export function ProjectField(props: {
  projectId: string;
  newProject: string;
  error?: string;
  onChange: (changes: { projectId?: string; newProject?: string }) => void;
}) {
  const projects = useQuery(projectsQuery).data ?? [];
  const isNew = props.projectId === "";
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {projects.length === 0 ? null : (
        <Field label="Project" error={isNew ? null : props.error}>
          {(ids) => (
            <Select
              {...ids}
              className="w-full"
              value={isNew ? NEW : props.projectId}
              onChange={({ target }) => props.onChange({ projectId: target.value === NEW ? "" : target.value })}
            >
              <option value={NEW}>New project…</option>
              {projects.map((project) => (
                <option key={project.id} value={project.id}>
                  {projectName(project)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {isNew ? (
        <Field
          label={projects.length === 0 ? "Project" : "New project"}
          error={props.error}
          hint="Enter owner/repository or a name. OmoiOS creates and hosts the repository."
        >
          {(ids) => (
            <Input
              {...ids}
              spellCheck={false}
              placeholder="owner/repository"
              value={props.newProject}
              onChange={({ target }) => props.onChange({ newProject: target.value })}
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}
