import type { Sandbox } from "@/api/client";
import { Dot, type Tone } from "@/ui/badge";

type State = Sandbox["status"];

const TONES: Record<State, Tone> = {
  creating: "info",
  running: "accent",
  stopping: "warn",
  stopped: "good",
  failed: "bad",
  lost: "bad",
};

/** A sandbox's state as the platform keeps it. */
export function StateLabel({ state }: { state: State }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Dot tone={TONES[state]} pulse={state === "running" || state === "creating"} />
      {state}
    </span>
  );
}
