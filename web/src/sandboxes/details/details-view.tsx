import type { ViewProps } from "../view";

export function DetailsView({ sandbox }: ViewProps) {
  return <p>{sandbox.id}</p>;
}
