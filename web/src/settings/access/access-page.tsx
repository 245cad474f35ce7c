import { usePageTitle } from "@/shell/page-title";
import { Keys } from "./keys";
import { Sessions } from "./sessions";

/** The user's own API keys and signed-in browsers. */
export function AccessPage() {
  usePageTitle("Keys and sessions");
  return (
    <div className="mx-auto max-w-4xl space-y-6 p-4">
      <h1 className="text-lg font-semibold">Keys and sessions</h1>
      <Keys />
      <Sessions />
    </div>
  );
}
