import type { ViewProps } from "../view";

export function ChangesView({ sandbox }: ViewProps) {
  return <p>{sandbox.id}</p>;
}
