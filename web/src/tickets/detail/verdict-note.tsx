import { ShieldQuestion, TriangleAlert } from "lucide-react";
import { useState } from "react";
import type { Task } from "@/api/client";
import { OUTCOME_STYLES } from "@/outcome/outcome";
import { Button } from "@/ui/button";
import { sentence } from "@/ui/text/sentence";
import { VerifyDialog } from "./verify-dialog";

/** The verdict about a finished task, with a button to add a check. */
export function VerdictNote({ task }: { task: Task }) {
  const [asks, setAsks] = useState(false);
  const isChecking = task.verification_requested_at !== null;
  const reason = task.result?.reason ?? null;
  if (task.status !== "completed" || (task.outcome === "verified" && !isChecking)) return null;
  const words = OUTCOME_STYLES[task.outcome].label;
  return (
    <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-sunken px-2.5 py-2 text-sm">
      <ShieldQuestion aria-hidden className="size-4 shrink-0 text-faint" />
      <p className="min-w-0 flex-1 basis-56 [overflow-wrap:anywhere] text-soft">
        {isChecking ? "The checks are running in a fresh sandbox…" : sentence(reason === null ? words : `${words}: ${reason}`)}
      </p>
      {isChecking || !task.result?.commit_sha ? null : (
        <Button size="small" onClick={() => setAsks(true)}>
          Add check
        </Button>
      )}
      {asks ? <VerifyDialog task={task} onClose={() => setAsks(false)} /> : null}
    </div>
  );
}

/** A warning that a change modified the files that verify it. */
export function ChangedChecks({ paths }: { paths: readonly string[] }) {
  if (paths.length === 0) return null;
  return (
    <div role="note" className="flex gap-2 rounded-md bg-warn-soft px-2.5 py-2 text-sm text-warn">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <div className="min-w-0">
        <p>This change modified files that its checks depend on:</p>
        <ul className="list-inside list-disc">
          {paths.map((path) => (
            <li key={path} className="font-mono text-xs [overflow-wrap:anywhere]">
              {path}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
