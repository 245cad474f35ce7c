import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Loading, Trouble } from "@/ui/state";
import { ticketsQuery } from "./queries";

const route = getRouteApi("/");

export function BoardPage() {
  const { project } = route.useSearch();
  const tickets = useQuery(ticketsQuery({ project }));
  if (tickets.isPending) return <Loading what="tickets" />;
  if (tickets.isError) return <Trouble what="Tickets" error={tickets.error} retry={() => void tickets.refetch()} />;
  return (
    <ul className="p-4">
      {tickets.data.items.map((ticket) => (
        <li key={ticket.id}>
          <Link to="/tickets/$ticketId" params={{ ticketId: ticket.id }} className="text-accent">
            {ticket.title}
          </Link>{" "}
          {ticket.status}
        </li>
      ))}
    </ul>
  );
}
