import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { overviewQuery } from "@/monitoring/overview";
import { Dot } from "@/ui/badge";
import { cost } from "@/ui/text/numbers";
import { useRunningSandboxes } from "../running-sandboxes";
import { added, COLUMNS, costOf, NO_COST, type Cost } from "../columns";
import { columnQuery, type TicketFilter, type TicketStatus } from "../queries";

const COST_EVERY_MS = 20_000;

/** Running agents and costs in one line. */
export function BoardSummary({ filter }: { filter: TicketFilter }) {
  const alive = useRunningSandboxes();
  const atWork = Array.from(alive.values()).filter((sandbox) => sandbox.purpose === "work").length;
  const today = useQuery({ ...overviewQuery, refetchInterval: COST_EVERY_MS }).data?.days.at(-1);
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-xs">
      <Figure label="Running agents">
        <Link to="/sandboxes" className="flex items-center gap-1.5 hover:underline">
          <Dot tone={atWork > 0 ? "good" : "neutral"} pulse={atWork > 0} />
          {atWork}
        </Link>
      </Figure>
      <Figure label="Cost today" note="Spent by sandboxes started since midnight UTC">
        {today === undefined ? "…" : cost(today)}
      </Figure>
      <Figure label="Cost of these tickets">
        <ShownCost filter={filter} />
      </Figure>
    </dl>
  );
}

function Figure({ label, note, children }: { label: string; note?: string; children: ReactNode }) {
  return (
    <div title={note} className="flex items-center gap-1.5">
      <dt className="text-faint">{label}</dt>
      <dd className="font-medium tabular-nums">{children}</dd>
    </div>
  );
}

function ShownCost({ filter }: { filter: TicketFilter }) {
  const columns = useColumns(filter);
  const isAll = columns.every((column) => !column.hasMore);
  const sum = columns.reduce<Cost>((total, column) => added(total, column.cost), NO_COST);
  return `${isAll ? "" : "more than "}${cost(sum)}`;
}

interface ColumnSum {
  status: TicketStatus;
  count: number;
  cost: Cost;
  hasMore: boolean;
  isLoaded: boolean;
  error: Error | null;
}

/** Return the totals of what is loaded of each column. The columns are constant, so the hooks are too. */
export function useColumns(filter: TicketFilter): ColumnSum[] {
  return COLUMNS.map(({ status }) => {
    // oxlint-disable-next-line react/rules-of-hooks
    const query = useInfiniteQuery({ ...columnQuery(status, filter), refetchInterval: false });
    const { data, hasNextPage, isPlaceholderData, error } = query;
    const tickets = data?.pages.flatMap((page) => page.items) ?? [];
    return {
      status,
      count: tickets.length,
      cost: tickets.reduce<Cost>((sum, ticket) => added(sum, costOf(ticket)), NO_COST),
      hasMore: hasNextPage,
      isLoaded: data !== undefined && !isPlaceholderData,
      error: data === undefined ? error : null,
    };
  });
}
