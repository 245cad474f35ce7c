import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Loading, Trouble } from "@/ui/state";
import { useFeed } from "./feed/use-feed";
import { sandboxQuery } from "./queries";

const route = getRouteApi("/sandbox/$sandboxId");

export function SandboxPage() {
  const { sandboxId } = route.useParams();
  return <SandboxView key={sandboxId} sandboxId={sandboxId} />;
}

function SandboxView({ sandboxId }: { sandboxId: string }) {
  const sandbox = useQuery(sandboxQuery(sandboxId));
  const { feed } = useFeed(sandboxId);
  if (sandbox.isPending) return <Loading what="the sandbox" />;
  if (sandbox.isError) return <Trouble what="The sandbox" error={sandbox.error} retry={() => void sandbox.refetch()} />;
  return (
    <div className="p-4">
      <h1 className="font-mono text-base font-semibold">{sandbox.data.id}</h1>
      <ol>
        {feed.events.map((event) => (
          <li key={event.seq} className="font-mono text-xs">
            {event.seq} {event.event_type}
          </li>
        ))}
      </ol>
    </div>
  );
}
