import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { useTitle } from "@/shell/page-title";
import { Button } from "@/ui/button";
import { Empty, Loading, Trouble } from "@/ui/loading/placeholders";
import { Comparison } from "./comparison";
import { sandboxQuery } from "../queries";

const route = getRouteApi("/sandboxes/compare");

/** Two runs side by side. */
export function ComparePage() {
  const { a, b } = route.useSearch();
  const navigate = route.useNavigate();
  useTitle("Compare");
  return (
    <div className="mx-auto max-w-6xl space-y-3 p-3">
      <header className="flex items-center justify-between gap-2">
        <h1 className="text-lg font-semibold">Compare two runs</h1>
        {a !== undefined && b !== undefined ? (
          <Button size="small" onClick={() => void navigate({ search: { a: b, b: a }, replace: true })}>
            <ArrowLeftRight /> Swap
          </Button>
        ) : null}
      </header>
      {a === undefined || b === undefined ? (
        <Empty title="Two runs are needed">
          Choose two in the list of{" "}
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
  if (failed !== undefined) return <Trouble what="A run" error={failed.error} retry={() => void failed.refetch()} />;
  if (left.data === undefined || right.data === undefined) return <Loading what="the two runs" />;
  return <Comparison a={left.data} b={right.data} />;
}
