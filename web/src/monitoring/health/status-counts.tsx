import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { sandboxesSearch } from "@/search";
import { Facts } from "@/ui/facts";
import { count } from "@/ui/text/numbers";
import { capitalized } from "@/ui/text/sentence";

/** The number of items in each status. */
export function StatusCounts(props: { title: string; counts: Record<string, number>; note?: ReactNode; linkTo?: "/sandboxes" }) {
  return (
    <Facts title={props.title}>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(5rem,1fr))] gap-2">
        {Object.entries(props.counts).map(([state, many]) => (
          <div key={state} className="min-w-0 rounded-md bg-sunken px-2 py-1.5">
            <dt className="text-2xs text-soft">{capitalized(state)}</dt>
            <dd className="text-lg leading-6 font-semibold tabular-nums">
              {props.linkTo !== undefined && many > 0 ? (
                <Link to={props.linkTo} search={sandboxesSearch({ status: state })} aria-label={`Show ${many} ${state} sandboxes`} className="hover:text-accent hover:underline">
                  {count(many)}
                </Link>
              ) : (
                <span className={many === 0 ? "text-faint" : ""}>{count(many)}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {props.note === undefined ? null : <p className="mt-2 text-xs text-soft">{props.note}</p>}
    </Facts>
  );
}
