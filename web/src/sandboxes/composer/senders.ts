import type { Tone } from "@/ui/badge";

export interface Sender {
  who: "user" | "guardian" | "system" | "agent";
  name: string;
  tone: Tone;
}

/** Who speaks: `user:<email>`, `agent:<sandbox id>`, or the part of the platform that does. */
export function senderOf(sender: string, messageType: string): Sender {
  const [prefix, ...rest] = sender.split(":");
  const name = rest.join(":");
  if (messageType === "guardian_nudge" || prefix === "guardian") return { who: "guardian", name: "Guardian", tone: "warn" };
  if (prefix === "agent" || messageType === "collaboration") {
    return { who: "agent", name: name === "" ? "Another agent" : `Agent ${name}`, tone: "info" };
  }
  if (prefix === "user" && messageType !== "system") return { who: "user", name: name === "" ? "A person" : name, tone: "accent" };
  return { who: "system", name: name !== "" && prefix === "user" ? `System, by ${name}` : "System", tone: "neutral" };
}
