/** What was entered for a new project: a repository (`owner/name`) or a name. */
export type ParsedProject =
  | { kind: "repository"; owner: string; repository: string }
  | { kind: "name"; name: string }
  | { kind: "nothing" };

export function parseProject(text: string): ParsedProject {
  const written = text
    .trim()
    .replace(/^https?:\/\/[^/]+\//, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
  if (written === "") return { kind: "nothing" };
  const [owner, repository, ...rest] = written.split("/");
  if (owner && repository && rest.length === 0 && !/\s/.test(written)) return { kind: "repository", owner, repository };
  return { kind: "name", name: written };
}
