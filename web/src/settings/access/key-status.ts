import type { Tone } from "@/ui/badge";
import type { ApiKey } from "./queries";

/** Return the label and tone of a key: valid, expired or revoked. */
export function keyStatus(key: Pick<ApiKey, "revoked_at" | "expires_at">, now: number): readonly [label: string, tone: Tone] {
  if (key.revoked_at !== null) return ["revoked", "neutral"];
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now) return ["expired", "warn"];
  return ["valid", "good"];
}
