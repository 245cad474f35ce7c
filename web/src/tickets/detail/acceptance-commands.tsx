interface Command {
  text: string;
  isFromProject: boolean;
}

/** Return the acceptance commands of a ticket in the order in which they run: the project's first. */
export function acceptanceCommands(project: readonly string[], ticket: readonly string[]): Command[] {
  return [
    ...project.map((text) => ({ text, isFromProject: true })),
    ...ticket.map((text) => ({ text, isFromProject: false })),
  ];
}

/** Every command that must pass before the ticket is done. */
export function AcceptanceCommands({ project, ticket }: { project: readonly string[]; ticket: readonly string[] }) {
  const commands = acceptanceCommands(project, ticket);
  if (commands.length === 0) return <span className="text-xs text-faint">None: results stay unchecked</span>;
  return (
    <ul className="space-y-1">
      {commands.map(({ text, isFromProject }) => (
        <li key={`${isFromProject} ${text}`} className="rounded bg-sunken px-2 py-1 text-xs">
          <code className="font-mono [overflow-wrap:anywhere]">{text}</code>
          {isFromProject ? <span className="block text-2xs text-faint">From the project</span> : null}
        </li>
      ))}
    </ul>
  );
}
