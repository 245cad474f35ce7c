import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/loading/placeholders";

/** What stands where a page should, when its program failed. */
export function Broken({ reset }: ErrorComponentProps) {
  return (
    <Empty title="Something went wrong on this page">
      <p>Nothing is lost: what the server has acknowledged is kept, and drafts stay in this browser.</p>
      <div className="mt-3 flex justify-center gap-2">
        <Button variant="primary" onClick={() => location.reload()}>
          Load the page anew
        </Button>
        <Button onClick={reset}>Try again</Button>
      </div>
    </Empty>
  );
}
