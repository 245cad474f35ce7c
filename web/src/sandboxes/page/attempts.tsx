import { Link } from "@tanstack/react-router";
import type { Sandbox } from "@/api/client";
import { sandboxStyle } from "@/outcome/outcome";

/** The attempt, with links to the other attempts and verifications. */
export function Attempts({ sandbox, all, most }: { sandbox: Sandbox; all: readonly Sandbox[]; most: number | undefined }) {
  const others = all.filter((each) => each.id !== sandbox.id).toSorted((one, other) => one.created_at.localeCompare(other.created_at));
  const what = sandbox.purpose === "verify" ? "Verification of attempt" : "Attempt";
  return (
    <span>
      <span className="text-faint">{what}</span> {sandbox.attempt}
      {most === undefined ? "" : ` of ${most}`}
      {others.length > 0 ? (
        <span className="text-faint">
          {" (see "}
          {others.map((each, index) => (
            <span key={each.id}>
              {index > 0 ? ", " : ""}
              <Link to="/sandbox/$sandboxId" params={{ sandboxId: each.id }} className="text-accent underline" title={`${each.id}, ${sandboxStyle(each).label.toLowerCase()}`}>
                {each.purpose === "verify" ? `verification ${each.attempt}` : `attempt ${each.attempt}`}
              </Link>
            </span>
          ))}
          )
        </span>
      ) : null}
    </span>
  );
}
