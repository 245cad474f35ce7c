import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Loading, Trouble } from "@/ui/state";
import { ticketQuery } from "./queries";

const route = getRouteApi("/tickets/$ticketId");

export function TicketPage() {
  const { ticketId } = route.useParams();
  const ticket = useQuery(ticketQuery(ticketId));
  if (ticket.isPending) return <Loading what="the ticket" />;
  if (ticket.isError) return <Trouble what="The ticket" error={ticket.error} retry={() => void ticket.refetch()} />;
  return <h1 className="p-4 text-lg font-semibold">{ticket.data.title}</h1>;
}
