import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { UserRound } from "lucide-react";
import { useState } from "react";
import { errorMessage, type Project } from "@/api/client";
import { meQuery } from "@/shell/session/session";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/confirm-dialog";
import { Select } from "@/ui/form/field";
import { LoadError, Loading } from "@/ui/loading/placeholders";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { projectsQuery } from "../queries";
import { AddMember } from "./add-member";
import { membersQuery, removeMember, ROLES, setMember, type Member, type ProjectRole } from "./queries";

/** The members of a project. Owners add, change and remove them; everybody can leave. */
export function Members({ project }: { project: Project }) {
  const members = useQuery(membersQuery(project.id));
  const mayManage = project.role === "owner";
  return (
    <section aria-labelledby="members" className="space-y-2">
      <h2 id="members" className="font-semibold">
        Members
      </h2>
      <p className="text-soft">
        Viewers read everything. Maintainers also create tickets and run tasks. Owners also change settings and members.
      </p>
      {mayManage ? <AddMember projectId={project.id} /> : null}
      {members.isPending ? <Loading what="members" /> : null}
      {members.isError ? <LoadError what="The list of members" error={members.error} retry={() => void members.refetch()} /> : null}
      <ul className="divide-y rounded-lg border bg-surface empty:hidden">
        {members.data?.map((member) => <Row key={member.user_id} project={project} member={member} mayManage={mayManage} />)}
      </ul>
    </section>
  );
}

function Row({ project, member, mayManage }: { project: Project; member: Member; mayManage: boolean }) {
  const { data: me } = useQuery(meQuery);
  const isMe = me?.id === member.user_id;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <UserRound aria-hidden className="size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{member.name}</span>
          {isMe ? <Badge tone="info">you</Badge> : null}
          {member.deactivated_at === null ? null : <Badge tone="warn">deactivated</Badge>}
        </p>
        <p className="text-xs text-faint [overflow-wrap:anywhere]">{member.email}</p>
      </div>
      {mayManage && member.deactivated_at === null ? <RoleSelect projectId={project.id} member={member} /> : <Badge>{ROLES[member.role]}</Badge>}
      {mayManage || isMe ? <RemoveButton project={project} member={member} isMe={isMe} /> : null}
    </li>
  );
}

function RoleSelect({ projectId, member }: { projectId: string; member: Member }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (role: ProjectRole) => setMember(projectId, member.email, role),
    onError: (error) => notify(sentence(errorMessage(error)), { isBad: true }),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: membersQuery(projectId).queryKey });
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
    },
  });
  return (
    <Select
      aria-label={`Role of ${member.name}`}
      disabled={change.isPending}
      value={change.isPending ? change.variables : member.role}
      onChange={({ target }) => change.mutate(target.value as ProjectRole)}
    >
      {Object.entries(ROLES).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </Select>
  );
}

function RemoveButton({ project, member, isMe }: { project: Project; member: Member; isMe: boolean }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    await removeMember(project.id, member.user_id);
    await queries.invalidateQueries({ queryKey: isMe ? projectsQuery.queryKey : membersQuery(project.id).queryKey });
  };
  return (
    <>
      <Button size="small" variant="danger" aria-label={isMe ? "Leave project" : `Remove ${member.name}`} onClick={() => setAsking(true)}>
        {isMe ? "Leave" : "Remove"}
      </Button>
      {isAsking ? (
        <ConfirmDialog
          title={isMe ? "Leave this project?" : "Remove this member?"}
          subject={isMe ? project.name : member.email}
          action={isMe ? "Leave project" : "Remove member"}
          cancel={isMe ? "Stay" : "Keep member"}
          perform={remove}
          onClose={() => setAsking(false)}
        >
          {isMe ? "You no longer see" : "They no longer see"} the project and its tickets. Tickets and tasks stay, and running tasks
          continue.
        </ConfirmDialog>
      ) : null}
    </>
  );
}
