import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { unwrap, api, errorMessage } from "@/api/client";
import { ModelNotice } from "@/monitoring/model-notice";
import { ProjectField } from "@/projects/project-field";
import { projectsQuery } from "@/projects/queries";
import { parseProject } from "@/projects/project-input";
import { usePageTitle } from "@/shell/page-title";
import { Button } from "@/ui/button";
import { Field, Input, TextArea } from "@/ui/form/field";
import { submitOnEnter } from "@/ui/form/submit-on-enter";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { sentence } from "@/ui/text/sentence";
import { QueuedTask } from "./queued-task";

interface Draft {
  projectId: string;
  newProject: string;
  prompt: string;
  model: string;
  budget: string;
}

async function projectOf(draft: Draft): Promise<string> {
  if (draft.projectId !== "") return draft.projectId;
  const wanted = parseProject(draft.newProject);
  const named = { name: draft.newProject.trim() };
  const body = wanted.kind === "repository" ? { ...named, github_owner: wanted.owner, github_repo: wanted.repository } : named;
  return (await unwrap(api.POST("/api/v1/projects", { body }))).id;
}

async function order(draft: Draft) {
  const project_id = await projectOf(draft);
  return unwrap(
    api.POST("/api/v1/sandboxes", {
      body: {
        project_id,
        prompt: draft.prompt.trim(),
        model: draft.model.trim() || null,
        budget_usd: draft.budget.trim() === "" ? null : Number(draft.budget),
      },
    }),
  );
}

function isBad(budget: string): boolean {
  return budget.trim() !== "" && !(Number(budget) > 0);
}

function isReady({ projectId, newProject, prompt, budget }: Draft): boolean {
  return prompt.trim() !== "" && !isBad(budget) && (projectId !== "" || newProject.trim() !== "");
}

/** A form that starts a sandbox with one prompt and without a ticket. */
export function NewSandboxPage() {
  const projects = useQuery(projectsQuery);
  usePageTitle("New sandbox");
  if (projects.isPending) return <Loading what="projects" />;
  if (projects.data === undefined) return <LoadError what="Projects" error={projects.error} retry={() => void projects.refetch()} />;
  return <Form first={projects.data[0]?.id ?? ""} />;
}

function Form({ first }: { first: string }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>({ projectId: first, newProject: "", prompt: "", model: "", budget: "" });
  const ordered = useMutation({
    mutationFn: order,
    onSuccess: ({ sandbox_id }) => {
      if (sandbox_id !== null) void navigate({ to: "/sandbox/$sandboxId", params: { sandboxId: sandbox_id }, replace: true });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady(draft)) ordered.mutate(draft);
  };
  if (ordered.isSuccess) return <QueuedTask taskId={ordered.data.task_id} ticketId={ordered.data.ticket_id} />;
  return (
    <form onSubmit={submit} className="mx-auto max-w-2xl space-y-4 p-4">
      <div>
        <h1 className="text-lg font-semibold">New sandbox</h1>
        <p className="text-soft">An agent works on the prompt in its own sandbox and stays available for follow-up messages.</p>
      </div>
      <ModelNotice />
      <Fields draft={draft} onChange={(changes) => setDraft({ ...draft, ...changes })} />
      {ordered.isError ? (
        <p role="alert" className="text-bad [overflow-wrap:anywhere]">
          {sentence(errorMessage(ordered.error))}
        </p>
      ) : null}
      <Button type="submit" variant="primary" disabled={!isReady(draft) || ordered.isPending}>
        {ordered.isPending ? "Starting…" : "Start sandbox"}
      </Button>
    </form>
  );
}

function Fields({ draft, onChange }: { draft: Draft; onChange: (changes: Partial<Draft>) => void }) {
  return (
    <>
      <ProjectField projectId={draft.projectId} newProject={draft.newProject} onChange={onChange} />
      <Field label="Prompt" hint="Press Ctrl+Enter to start.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={7}
            placeholder="Explain how the tests are run."
            value={draft.prompt}
            onChange={({ target }) => onChange({ prompt: target.value })}
            onKeyDown={submitOnEnter}
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Model" hint="Leave empty to use the platform's default model.">
          {(ids) => <Input {...ids} spellCheck={false} value={draft.model} onChange={({ target }) => onChange({ model: target.value })} />}
        </Field>
        <Field
          label="Budget (USD)"
          hint="Maximum spend on model calls. Leave empty for no limit."
          error={isBad(draft.budget) ? "Enter an amount above 0." : null}
        >
          {(ids) => <Input {...ids} inputMode="decimal" value={draft.budget} onChange={({ target }) => onChange({ budget: target.value })} />}
        </Field>
      </div>
    </>
  );
}
