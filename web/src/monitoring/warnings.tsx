import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { meQuery } from "@/shell/session/session";
import { Facts } from "@/ui/facts";
import { Ago } from "@/ui/time/time";
import { sentence } from "@/ui/text/sentence";
import { overviewQuery, type Overview } from "./overview";

const EVERY_MS = 30_000;

type Warning = Overview["warnings"][number];

/** The oldest warning about the platform, for administrators. */
export function WarningBanner() {
  const isAdmin = useQuery(meQuery).data?.role === "admin";
  const { data } = useQuery({ ...overviewQuery, enabled: isAdmin, refetchInterval: EVERY_MS });
  const [first, ...others] = isAdmin ? (data?.warnings ?? []) : [];
  return (
    <div role="status" aria-label="Platform warnings">
      {first === undefined ? null : (
        <p className="flex items-center justify-center gap-2 border-b border-warn/30 bg-warn-soft px-4 py-1.5 text-xs text-warn">
          <TriangleAlert aria-hidden className="size-3.5 shrink-0" />
          <span className="line-clamp-2 min-w-0 [overflow-wrap:anywhere]">{sentence(first.message)}</span>
          <Link to="/health-overview" className="shrink-0 font-medium underline">
            {others.length === 0 ? "Health" : `${others.length} more`}
          </Link>
        </p>
      )}
    </div>
  );
}

/** All warnings, oldest first. */
export function WarningList({ warnings }: { warnings: readonly Warning[] }) {
  if (warnings.length === 0) return null;
  return (
    <Facts title="Needs attention">
      <ul className="space-y-1.5 text-sm">
        {warnings.map((warning) => (
          <li key={`${warning.key} ${warning.message}`} className="flex gap-2">
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
            <span className="min-w-0 [overflow-wrap:anywhere]">
              {sentence(warning.message)}{" "}
              <span className="text-xs text-faint">
                First reported <Ago at={warning.since} />
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Facts>
  );
}
