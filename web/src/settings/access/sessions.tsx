import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { MonitorSmartphone } from "lucide-react";
import { errorMessage } from "@/api/client";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { LoadError, Loading } from "@/ui/loading/placeholders";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { Ago } from "@/ui/time/time";
import { endSession, sessionsQuery, type Session } from "./queries";

/** The browsers in which the user is signed in. */
export function Sessions() {
  const sessions = useQuery(sessionsQuery);
  return (
    <section aria-labelledby="sessions" className="space-y-2">
      <h2 id="sessions" className="font-semibold">
        Signed-in browsers
      </h2>
      {sessions.isPending ? <Loading what="sessions" /> : null}
      {sessions.isError ? <LoadError what="Your sessions" error={sessions.error} retry={() => void sessions.refetch()} /> : null}
      <ul className="divide-y rounded-lg border bg-surface empty:hidden">
        {sessions.data?.map((session) => <Row key={session.id} session={session} />)}
      </ul>
    </section>
  );
}

function Row({ session }: { session: Session }) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => endSession(session.id),
    onError: (error) => notify(sentence(errorMessage(error)), { isBad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <MonitorSmartphone aria-hidden className="size-4 shrink-0 text-faint" />
      <p className="flex min-w-0 flex-1 basis-60 flex-wrap items-center gap-2">
        <span>
          Signed in <Ago at={session.created_at} />, last used <Ago at={session.last_seen} />
        </span>
        {session.current ? <Badge tone="info">this browser</Badge> : null}
      </p>
      {session.current ? null : (
        <Button size="small" variant="danger" disabled={end.isPending} onClick={() => end.mutate()}>
          Sign out
        </Button>
      )}
    </li>
  );
}
