import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/loading/placeholders";
import { useTitle } from "./page-title";

export function NotThere() {
  useTitle("No such page");
  return (
    <Empty title="There is no such page" isPage>
      The address may be old. Go to the{" "}
      <Link to="/" className="text-accent underline">
        board
      </Link>
      .
    </Empty>
  );
}
