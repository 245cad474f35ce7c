import type { Project } from "@/api/client";

/** Return the command that clones a project's repository. */
export function cloneCommand(project: Pick<Project, "clone_url">): string {
  return `git clone ${project.clone_url}`;
}

/** Return the command that fetches a branch of a project and checks it out. */
export function fetchCommand(project: Pick<Project, "clone_url">, branch: string): string {
  return `git fetch ${project.clone_url} ${branch} && git switch --create ${branch} FETCH_HEAD`;
}
