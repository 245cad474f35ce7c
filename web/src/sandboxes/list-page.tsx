import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Loading, Trouble } from "@/ui/state";
import { sandboxesQuery } from "./queries";

const route = getRouteApi("/sandboxes");

export function SandboxesPage() {
  const { status, project } = route.useSearch();
  const sandboxes = useQuery(sandboxesQuery({ status, project }));
  if (sandboxes.isPending) return <Loading what="sandboxes" />;
  if (sandboxes.isError)
    return <Trouble what="Sandboxes" error={sandboxes.error} retry={() => void sandboxes.refetch()} />;
  return (
    <ul className="p-4">
      {sandboxes.data.items.map((sandbox) => (
        <li key={sandbox.id}>
          <Link to="/sandbox/$sandboxId" params={{ sandboxId: sandbox.id }} className="font-mono text-accent">
            {sandbox.id}
          </Link>{" "}
          {sandbox.status}
        </li>
      ))}
    </ul>
  );
}
