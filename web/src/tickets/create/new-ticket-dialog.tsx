import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { unwrap, api, newIdempotencyKey, type Ticket } from "@/api/client";
import { ensureProject } from "@/projects/ensure-project";
import { projectsQuery } from "@/projects/queries";
import { useCurrentProject } from "@/projects/use-current-project";
import { ModelNotice } from "@/monitoring/model-notice";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { notify } from "@/ui/notices";
import { place } from "../cache";
import { EMPTY_FORM, initialForm, ticketBody, errorsFrom, validate, type FormErrors, type TicketForm } from "./ticket-form";
import { TicketFields } from "./ticket-fields";

/** An unsent form is kept until the dialog is opened again. */
let draft = EMPTY_FORM;

/** Return the idempotency key of a form: the same form has the same key. */
function useRequestKey(): (form: TicketForm) => string {
  const last = useRef({ wish: "", key: "" });
  return (form) => {
    const wish = JSON.stringify(form);
    if (wish !== last.current.wish) last.current = { wish, key: newIdempotencyKey() };
    return last.current.key;
  };
}

async function createTicket(form: TicketForm, key: string): Promise<Ticket> {
  const project = form.projectId === "" ? await ensureProject(form.newProject, `${key}-project`) : { project_id: form.projectId };
  const params = { header: { "Idempotency-Key": key } };
  return unwrap(api.POST("/api/v1/tickets", { params, body: { ...ticketBody(form), ...project } as never }));
}

/** The dialog that creates a ticket. */
export function NewTicketDialog({ onClose }: { onClose: () => void }) {
  const project = useCurrentProject();
  const [form, setForm] = useState(() => initialForm(draft, project));
  const [isProjectChosen, setProjectChosen] = useState(form.projectId !== "" || form.newProject !== "");
  // Projects may still be loading when the dialog opens.
  if (!isProjectChosen && project !== undefined) {
    setProjectChosen(true);
    setForm({ ...form, projectId: project });
  }
  const [trouble, setTrouble] = useState<FormErrors>({});
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isOnBoard = useLocation({ select: (location) => location.pathname === "/" });
  const keyOf = useRequestKey();
  const fields = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (Object.keys(trouble).length > 0) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [trouble]);
  const make = useMutation({
    mutationFn: (wanted: TicketForm) => createTicket(wanted, keyOf(wanted)),
    onError: (error) => setTrouble(errorsFrom(error)),
    onSuccess: (ticket) => {
      draft = { ...EMPTY_FORM, projectId: ticket.project_id };
      place(queries, ticket);
      void queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
      notify(`Created ticket “${ticket.title}”.`);
      onClose();
      if (!isOnBoard) void navigate({ to: "/tickets/$ticketId", params: { ticketId: ticket.id } });
    },
  });

  function change(changes: Partial<TicketForm>) {
    if (changes.projectId !== undefined || changes.newProject !== undefined) setProjectChosen(true);
    draft = { ...form, ...changes };
    setForm(draft);
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    if (make.isPending) return;
    const found = validate(form);
    setTrouble(found);
    if (Object.keys(found).length === 0) make.mutate(form);
  }

  return (
    <Dialog open onOpenChange={onClose} title="New ticket">
      <form ref={fields} noValidate onSubmit={submit} className="space-y-3">
        <ModelNotice />
        <TicketFields form={form} trouble={trouble} onChange={change} />
        <div className="sticky -bottom-4 -mx-4 -mb-4 flex items-center justify-end gap-2 border-t bg-raised px-4 py-3">
          <p role="alert" className="mr-auto min-w-0 text-sm text-bad [overflow-wrap:anywhere]">
            {trouble.whole}
          </p>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={make.isPending} title="Create ticket (Ctrl+Enter)">
            {make.isPending ? "Creating…" : "Create ticket"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
