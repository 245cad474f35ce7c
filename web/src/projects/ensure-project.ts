import { unwrap, api, newIdempotencyKey } from "@/api/client";
import { parseProject } from "./project-input";

/** How a ticket refers to its project. */
export type ProjectOfTicket = { project_id: string } | { github_owner: string; github_repo: string };

/**
 * Return the project that was entered, and create it if it is only a name. A repository is resolved by the server with
 * the ticket.
 */
export async function ensureProject(text: string, key: string = newIdempotencyKey()): Promise<ProjectOfTicket> {
  const wanted = parseProject(text);
  if (wanted.kind === "repository") return { github_owner: wanted.owner, github_repo: wanted.repository };
  const header = { "Idempotency-Key": key };
  const body = { name: wanted.kind === "name" ? wanted.name : "" };
  const made = await unwrap(api.POST("/api/v1/projects", { params: { header }, body: body as never }));
  return { project_id: made.id };
}
