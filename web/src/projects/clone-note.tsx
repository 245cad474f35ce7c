import type { Project } from "@/api/client";
import { ShellCommand } from "@/ui/shell-command";
import { cloneCommand } from "./git-commands";

/** How to clone a project's repository. */
export function CloneNote({ project }: { project: Project }) {
  return (
    <div className="min-w-0 space-y-0.5 text-xs">
      <ShellCommand command={cloneCommand(project)} label="Copy clone command" />
      <p className="text-faint">Use any user name, and an API key as the password.</p>
    </div>
  );
}
