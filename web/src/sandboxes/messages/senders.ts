import type { Tone } from "@/ui/badge";

export interface Sender {
  who: "user" | "guardian" | "system" | "agent";
  name: string;
  tone: Tone;
}

type Kind = Pick<Sender, "who" | "tone"> & { title: string };

const GUARDIAN: Kind = { who: "guardian", title: "Guardian", tone: "warn" };
const AGENT: Kind = { who: "agent", title: "Another agent", tone: "info" };
const SYSTEM: Kind = { who: "system", title: "System", tone: "neutral" };
const KINDS = new Map([
  ["guardian_nudge", GUARDIAN],
  ["collaboration", AGENT],
  ["system", SYSTEM],
]);

/**
 * Return who sent a message: `user:<email>`, `agent:<sandbox id>`, or a part of the platform. A user who sends for the
 * platform is named too.
 */
export function senderOf(sender: string, messageType: string): Sender {
  const [prefix, ...rest] = sender.split(":");
  const name = rest.join(":");
  const kind = KINDS.get(messageType);
  if (prefix === "user" && kind === undefined) return { who: "user", name: name === "" ? "A person" : name, tone: "accent" };
  const { who, title, tone } = kind ?? (prefix === "guardian" ? GUARDIAN : prefix === "agent" ? AGENT : SYSTEM);
  if (prefix === "user" && name !== "") return { who, name: `${title}, by ${name}`, tone };
  return { who, name: who === "agent" && name !== "" ? `Agent ${name}` : title, tone };
}
