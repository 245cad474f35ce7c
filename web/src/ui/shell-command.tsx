import { CopyButton } from "./copy-button";

/** A shell command with a button that copies it. */
export function ShellCommand({ command, label }: { command: string; label: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="min-w-0 rounded-sm bg-sunken px-1.5 py-0.5 font-mono text-xs [overflow-wrap:anywhere]">{command}</code>
      <CopyButton text={command} label={label} />
    </span>
  );
}
