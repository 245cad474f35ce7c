import { useSyncExternalStore } from "react";
import { unwrap, api, newIdempotencyKey, type Ticket } from "@/api/client";

/** The acceptance case: the result comes from a program that runs in the sandbox, and a check runs it again. */
const TICKET = {
  title: "Calculate binomial coefficient",
  description:
    "Compute the binomial coefficient C(50,25) with Python, exactly.\n\n" +
    "1. Write `binomial.py` at the root of the repository with a function that computes C(n, k).\n" +
    "2. Edit it so that running `python3 binomial.py` prints C(50,25), the plain number and nothing else.\n" +
    "3. Run it, and report the number that the run printed. Do not compute it in your head.",
  ticket_type: "feature",
  acceptance: ["python3 binomial.py | grep -q 126410606437752"],
  github_owner: "kivo360",
  github_repo: "OmoiOS",
} as const;

const KEPT = "demo-ticket";
const watchers = new Set<() => void>();
const requestKey = newIdempotencyKey();
/** The demo that was started in this tab and whose sandbox was not opened yet. */
let started: string | null = null;

/** Create the demo's ticket; a repeated call does not create another. */
export async function startDemo(): Promise<Ticket> {
  const params = { header: { "Idempotency-Key": requestKey } };
  const body = { ...TICKET, acceptance: [...TICKET.acceptance] };
  const ticket = await unwrap(api.POST("/api/v1/tickets", { params, body: body as never }));
  started = ticket.id;
  follow(ticket.id);
  return ticket;
}

/** Whether to open the demo's sandbox: once, and only in the tab that started it. */
export function shouldOpenSandbox(ticketId: string): boolean {
  const isStarted = started === ticketId;
  if (isStarted) started = null;
  return isStarted;
}

/** Set the demo that this tab follows; null ends it. */
export function follow(ticketId: string | null): void {
  if (ticketId === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, ticketId);
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useDemo(): string | null {
  return useSyncExternalStore(watch, () => sessionStorage.getItem(KEPT));
}
