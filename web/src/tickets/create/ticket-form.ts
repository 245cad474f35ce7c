import { ApiError, errorMessage, type TicketIn } from "@/api/client";
import { parseProject } from "@/projects/project-input";
import type { PRIORITIES, TICKET_TYPES } from "@/search";
import { sentence } from "@/ui/text/sentence";

/** The values of the form. */
export interface TicketForm {
  title: string;
  description: string;
  /** The project's id; empty for a new project. */
  projectId: string;
  /** The input for a new project. */
  newProject: string;
  acceptance: string;
  budget: string;
  type: (typeof TICKET_TYPES)[number];
  priority: (typeof PRIORITIES)[number];
}

export const EMPTY_FORM: TicketForm = {
  title: "",
  description: "",
  projectId: "",
  newProject: "",
  acceptance: "",
  budget: "",
  type: "feature",
  priority: "MEDIUM",
};

/** Return the form to start with: an unsent draft as it was; else an empty form for the current project. */
export function initialForm(draft: TicketForm, project: string | undefined): TicketForm {
  const isDraft = draft.title !== "" || draft.description !== "" || draft.newProject !== "";
  return isDraft || project === undefined ? draft : { ...draft, projectId: project };
}

/** Messages by field; `whole` belongs to no field. */
export type FormErrors = Partial<Record<"title" | "description" | "project" | "acceptance" | "budget" | "whole", string>>;

/** Return the errors that are visible without asking the server. */
export function validate(form: TicketForm): FormErrors {
  const trouble: FormErrors = {};
  if (form.title.trim() === "") trouble.title = "Enter a title.";
  if (form.projectId === "" && parseProject(form.newProject).kind === "nothing")
    trouble.project = "Enter a project: owner/repository or a name.";
  const budget = Number(form.budget);
  if (form.budget.trim() !== "" && !(Number.isFinite(budget) && budget > 0))
    trouble.budget = "Enter an amount above 0, or leave this empty.";
  return trouble;
}

export type TicketBody = Pick<
  TicketIn,
  "title" | "description" | "acceptance" | "budget_usd" | "ticket_type" | "priority"
>;

/** Return the ticket without its project. */
export function ticketBody(form: TicketForm): TicketBody {
  return {
    title: form.title.trim(),
    description: form.description,
    acceptance: form.acceptance
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== ""),
    budget_usd: form.budget.trim() === "" ? null : Number(form.budget),
    ticket_type: form.type,
    priority: form.priority,
  };
}

const PLACES: Record<string, keyof FormErrors> = {
  title: "title",
  description: "description",
  project_id: "project",
  github_owner: "project",
  github_repo: "project",
  name: "project",
  acceptance: "acceptance",
  budget_usd: "budget",
};

/** Return the server's errors by field, or as one sentence. */
export function errorsFrom(error: unknown): FormErrors {
  const fields = error instanceof ApiError ? Object.entries(error.fields) : [];
  const found = fields.flatMap(([name, words]) => (PLACES[name] === undefined ? [] : [[PLACES[name], sentence(words)]]));
  return found.length > 0 ? Object.fromEntries(found) : { whole: sentence(errorMessage(error)) };
}
