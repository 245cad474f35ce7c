import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link2, Plus, UserRound } from "lucide-react";
import { useState } from "react";
import { errorMessage } from "@/api/client";
import { usePageTitle } from "@/shell/page-title";
import { meQuery } from "@/shell/session/session";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/confirm-dialog";
import { LoadError, Loading } from "@/ui/loading/placeholders";
import { notify } from "@/ui/notices";
import { OnceDialog } from "@/ui/once-dialog";
import { sentence } from "@/ui/text/sentence";
import { AddUserDialog } from "./add-user-dialog";
import { changeUser, createSignInLink, usersQuery, type User } from "./queries";

/** The users of the installation, for administrators. */
export function UsersPage() {
  const users = useQuery(usersQuery);
  const { data: me } = useQuery(meQuery);
  const [isAdding, setAdding] = useState(false);
  usePageTitle("Users");
  if (users.isPending) return <Loading what="users" />;
  if (users.data === undefined) return <LoadError what="The list of users" error={users.error} retry={() => void users.refetch()} />;
  return (
    <div className="mx-auto max-w-4xl space-y-3 p-4">
      <header className="flex flex-wrap items-start justify-between gap-2">
        <div>
          <h1 className="text-lg font-semibold">Users</h1>
          <p className="text-soft">Members see the projects they belong to; administrators see and manage everything.</p>
        </div>
        <Button variant="primary" onClick={() => setAdding(true)}>
          <Plus /> Add user
        </Button>
      </header>
      <ul className="divide-y rounded-lg border bg-surface">
        {users.data.map((user) => (
          <Row key={user.id} user={user} isMe={user.id === me?.id} />
        ))}
      </ul>
      {isAdding ? <AddUserDialog onClose={() => setAdding(false)} /> : null}
    </div>
  );
}

function Row({ user, isMe }: { user: User; isMe: boolean }) {
  const isActive = user.deactivated_at === null;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <UserRound aria-hidden className="size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{user.name}</span>
          {user.role === "admin" ? <Badge tone="accent">administrator</Badge> : null}
          {isActive ? null : <Badge tone="warn">deactivated</Badge>}
        </p>
        <p className="text-xs text-faint [overflow-wrap:anywhere]">{user.email}</p>
      </div>
      {isActive ? <LinkButton user={user} /> : null}
      {isMe ? null : isActive ? <DeactivateButton user={user} /> : <ReactivateButton user={user} />}
    </li>
  );
}

function LinkButton({ user }: { user: User }) {
  const link = useMutation({
    mutationFn: () => createSignInLink(user.id),
    onError: (error) => notify(sentence(errorMessage(error)), { isBad: true }),
  });
  return (
    <>
      <Button size="small" aria-label={`Create sign-in link for ${user.name}`} disabled={link.isPending} onClick={() => link.mutate()}>
        <Link2 /> Sign-in link
      </Button>
      {link.data === undefined ? null : (
        <OnceDialog
          title="Sign-in link"
          note={`It signs one browser in as ${user.email}, once, within 24 hours. Send it to nobody else.`}
          secret={link.data.url}
          label="Sign-in link"
          onClose={link.reset}
        />
      )}
    </>
  );
}

function DeactivateButton({ user }: { user: User }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button size="small" variant="danger" aria-label={`Deactivate ${user.name}`} onClick={() => setAsking(true)}>
        Deactivate
      </Button>
      {isAsking ? (
        <ConfirmDialog
          title="Deactivate this user?"
          subject={user.email}
          action="Deactivate user"
          cancel="Keep active"
          perform={() => changeUser(user.id, { active: false }).then(() => queries.invalidateQueries({ queryKey: usersQuery.queryKey }))}
          onClose={() => setAsking(false)}
        >
          Their keys, sessions and streams end at once. Everything they created stays, and you can reactivate them.
        </ConfirmDialog>
      ) : null}
    </>
  );
}

function ReactivateButton({ user }: { user: User }) {
  const queries = useQueryClient();
  const reactivate = useMutation({
    mutationFn: () => changeUser(user.id, { active: true }),
    onError: (error) => notify(sentence(errorMessage(error)), { isBad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: usersQuery.queryKey }),
  });
  return (
    <Button size="small" aria-label={`Reactivate ${user.name}`} disabled={reactivate.isPending} onClick={() => reactivate.mutate()}>
      Reactivate
    </Button>
  );
}
