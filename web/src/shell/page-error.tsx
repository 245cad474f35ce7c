import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/loading/placeholders";

/** Shown in place of a page that failed to render. */
export function Broken({ reset }: ErrorComponentProps) {
  return (
    <Empty title="Something went wrong on this page">
      <p>Your work is safe: everything the server acknowledged is stored, and drafts stay in this browser.</p>
      <div className="mt-3 flex justify-center gap-2">
        <Button variant="primary" onClick={() => location.reload()}>
          Reload page
        </Button>
        <Button onClick={reset}>Try again</Button>
      </div>
    </Empty>
  );
}
