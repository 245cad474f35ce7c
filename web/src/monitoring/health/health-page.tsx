import { useQuery, useQueryClient } from "@tanstack/react-query";
import { invalidate } from "@/api/invalidate";
import { useLive } from "@/stream/stream-provider";
import { usePageTitle } from "@/shell/page-title";
import { Ago } from "@/ui/time/time";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { duration } from "@/ui/time/format";
import { useBatched } from "@/ui/hooks/use-batched";
import { DailyTotals } from "./daily-totals";
import { overviewQuery } from "../overview";
import { PlatformFacts } from "./platform-facts";
import { StatusCounts } from "./status-counts";
import { WarningList } from "../warnings";

/** The state of the platform: queue, sandboxes, throughput, cost, providers and processes. */
export function HealthPage() {
  const overview = useQuery(overviewQuery);
  useFreshOverview();
  usePageTitle("Health");
  if (overview.isPending) return <Loading what="the overview" />;
  if (overview.data === undefined) return <LoadError what="The overview" error={overview.error} retry={() => void overview.refetch()} />;
  const { queue, sandboxes, days, generated_at, warnings } = overview.data;
  return (
    <div className="mx-auto max-w-6xl space-y-3 p-3">
      <header className="flex flex-wrap items-baseline justify-between gap-2">
        <h1 className="text-lg font-semibold">Health</h1>
        <p className="text-xs text-faint">
          Updated <Ago at={generated_at} />
        </p>
      </header>
      <WarningList warnings={warnings} />
      <div className="grid gap-3 lg:grid-cols-2">
        <StatusCounts
          title="Open tasks"
          counts={queue.by_status}
          note={
            queue.oldest_pending_seconds === null
              ? "No task is waiting for a sandbox."
              : `The oldest pending task has waited for ${duration(queue.oldest_pending_seconds * 1000)}.`
          }
        />
        <StatusCounts
          title="Sandboxes"
          counts={sandboxes.by_status}
          note={`Running sandboxes, and those that ended in the last ${sandboxes.days} days.`}
          linkTo="/sandboxes"
        />
        <DailyTotals days={days} />
      </div>
      <div className="grid gap-3 md:grid-cols-3">
        <PlatformFacts overview={overview.data} />
      </div>
    </div>
  );
}

/** Refresh the overview after status changes, but not more often than this. */
const REST_MS = 2_000;

function useFreshOverview(): void {
  const queries = useQueryClient();
  const onItems = useBatched(() => invalidate(queries, overviewQuery.queryKey), REST_MS);
  useLive({ types: ["sandbox.status", "task.status"] }, { onItems });
}
