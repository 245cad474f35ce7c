import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/loading/placeholders";
import { usePageTitle } from "./page-title";

export function NotFound() {
  usePageTitle("Page not found");
  return (
    <Empty title="Page not found" isPage>
      The link may be out of date. Go to the{" "}
      <Link to="/" className="text-accent underline">
        board
      </Link>
      .
    </Empty>
  );
}
