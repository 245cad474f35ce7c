import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { answer, api, reason } from "@/api/client";
import { projectName, projectsQuery } from "@/projects/queries";
import { useTitle } from "@/shell/title";
import { Button } from "@/ui/button";
import { Field, Input, Select, TextArea } from "@/ui/field";
import { Loading, Trouble } from "@/ui/state";
import { Waiting } from "./list/waiting";

interface Draft {
  project: string;
  newProject: string;
  prompt: string;
  model: string;
  budget: string;
}

async function order(draft: Draft) {
  const project_id =
    draft.project === ""
      ? (await answer(api.POST("/api/v1/projects", { body: { name: draft.newProject.trim() } }))).id
      : draft.project;
  return answer(
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

/** One prompt, one sandbox: work without a ticket. */
export function NewSandboxPage() {
  const projects = useQuery(projectsQuery);
  useTitle("New sandbox");
  if (projects.isPending) return <Loading what="projects" />;
  if (projects.isError) return <Trouble what="Projects" error={projects.error} retry={() => void projects.refetch()} />;
  return <Form projects={projects.data.map((project) => ({ id: project.id, name: projectName(project) }))} />;
}

function Form({ projects }: { projects: { id: string; name: string }[] }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>({ project: projects[0]?.id ?? "", newProject: "", prompt: "", model: "", budget: "" });
  const ordered = useMutation({
    mutationFn: order,
    onSuccess: ({ sandbox_id }) => {
      if (sandbox_id !== null) void navigate({ to: "/sandbox/$sandboxId", params: { sandboxId: sandbox_id }, replace: true });
    },
  });
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const badBudget = draft.budget.trim() !== "" && !(Number(draft.budget) > 0);
  const isReady = draft.prompt.trim() !== "" && !badBudget && (draft.project !== "" || draft.newProject.trim() !== "");

  function submit(event: FormEvent) {
    event.preventDefault();
    if (isReady) ordered.mutate(draft);
  }

  if (ordered.isSuccess) return <Waiting taskId={ordered.data.task_id} ticketId={ordered.data.ticket_id} />;
  return (
    <form onSubmit={submit} className="mx-auto max-w-2xl space-y-4 p-4">
      <div>
        <h1 className="text-lg font-semibold">New sandbox</h1>
        <p className="text-soft">An agent takes the prompt in a place of its own. It stays for what you say afterwards.</p>
      </div>
      <Field label="Project">
        {(ids) => (
          <Select {...ids} className="w-full" value={draft.project} onChange={(event) => set({ project: event.target.value })}>
            {projects.map((project) => (
              <option key={project.id} value={project.id}>
                {project.name}
              </option>
            ))}
            <option value="">New project…</option>
          </Select>
        )}
      </Field>
      {draft.project === "" ? (
        <Field label="Name of the new project" hint="Its repository is kept here.">
          {(ids) => <Input {...ids} value={draft.newProject} onChange={(event) => set({ newProject: event.target.value })} />}
        </Field>
      ) : null}
      <Field label="Prompt" hint="Ctrl+Enter sends it.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={7}
            placeholder="Explain how tests are run here."
            value={draft.prompt}
            onChange={(event) => set({ prompt: event.target.value })}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Model" hint="Left empty: the platform's own.">
          {(ids) => <Input {...ids} spellCheck={false} value={draft.model} onChange={(event) => set({ model: event.target.value })} />}
        </Field>
        <Field label="Budget in dollars" hint="What it may spend on model calls. Left empty: no limit of its own." error={badBudget ? "Give a number above 0." : null}>
          {(ids) => <Input {...ids} inputMode="decimal" value={draft.budget} onChange={(event) => set({ budget: event.target.value })} />}
        </Field>
      </div>
      {ordered.isError ? (
        <p role="alert" className="text-bad [overflow-wrap:anywhere]">
          {reason(ordered.error)}
        </p>
      ) : null}
      <Button type="submit" variant="primary" disabled={!isReady || ordered.isPending}>
        {ordered.isPending ? "Starting…" : "Start"}
      </Button>
    </form>
  );
}
