import type { ViewProps } from "../view";

export function TerminalView({ sandbox }: ViewProps) {
  return <p>{sandbox.id}</p>;
}
