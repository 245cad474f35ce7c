import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { usePageTitle } from "@/shell/page-title";
import { Button } from "@/ui/button";
import { Empty, Loading, LoadError } from "@/ui/loading/placeholders";
import { Comparison } from "./comparison";
import { sandboxQuery } from "../queries";

const route = getRouteApi("/sandboxes/compare");

/** Two sandboxes side by side. */
export function ComparePage() {
  const { a, b } = route.useSearch();
  const navigate = route.useNavigate();
  usePageTitle("Compare");
  return (
    <div className="mx-auto max-w-6xl space-y-3 p-3">
      <header className="flex items-center justify-between gap-2">
        <h1 className="text-lg font-semibold">Compare two sandboxes</h1>
        {a !== undefined && b !== undefined ? (
          <Button size="small" onClick={() => void navigate({ search: { a: b, b: a }, replace: true })}>
            <ArrowLeftRight /> Swap sides
          </Button>
        ) : null}
      </header>
      {a === undefined || b === undefined ? (
        <Empty title="Select two sandboxes">
          Select the two to compare in the list of{" "}
          <Link to="/sandboxes" className="text-accent underline">
            sandboxes
          </Link>
          .
        </Empty>
      ) : (
        <Both key={`${a} ${b}`} a={a} b={b} />
      )}
    </div>
  );
}

function Both({ a, b }: { a: string; b: string }) {
  const [left, right] = [useQuery(sandboxQuery(a)), useQuery(sandboxQuery(b))];
  const failed = [left, right].find((each) => each.isError && each.data === undefined);
  if (failed !== undefined) return <LoadError what="A sandbox" error={failed.error} retry={() => void failed.refetch()} />;
  if (left.data === undefined || right.data === undefined) return <Loading what="the sandboxes" />;
  return <Comparison a={left.data} b={right.data} />;
}
