import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { overviewQuery, type Overview } from "./overview";

/** Whether agents can only play prepared scripts, because no model is configured. */
export function isScripted(overview: Pick<Overview, "versions"> | undefined): boolean {
  return overview?.versions.model === "scripted";
}

/** A notice, shown where work is requested, that no model is configured. */
export function ModelNotice() {
  const { data } = useQuery(overviewQuery);
  if (!isScripted(data)) return null;
  return (
    <p role="note" className="flex gap-2 rounded-md bg-warn-soft px-2.5 py-2 text-xs text-warn">
      <TriangleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
      <span>
        No model is configured. Agents use the scripted model, which can only play prepared scripts such as the demo task. To use a
        real model, add an API key under My credentials in the account menu, or set{" "}
        <code className="font-mono">ANTHROPIC_API_KEY</code> and restart the server.
      </span>
    </p>
  );
}
