import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/state";

export function NotThere() {
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
