import type { ViewProps } from "../view";

export function TimelineView({ sandbox }: ViewProps) {
  return <p>{sandbox.id}</p>;
}
