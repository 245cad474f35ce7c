import { Link } from "@tanstack/react-router";
import { Activity, Boxes, HeartPulse, SquareKanban } from "lucide-react";

const PLACES = [
  { to: "/", label: "Board", icon: SquareKanban },
  { to: "/sandboxes", label: "Sandboxes", icon: Boxes },
  { to: "/activity", label: "Activity", icon: Activity },
  { to: "/health-overview", label: "Health", icon: HeartPulse },
] as const;

export function Navigation() {
  return (
    <nav aria-label="Main" className="flex items-center gap-0.5 max-sm:gap-0">
      {PLACES.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === "/", includeSearch: false }}
          activeProps={{ className: "bg-sunken text-text" }}
          inactiveProps={{ className: "text-soft hover:bg-sunken hover:text-text" }}
          className="flex h-8 items-center gap-1.5 rounded-md px-2 text-sm font-medium max-sm:h-11 max-sm:flex-col max-sm:justify-center max-sm:gap-0 max-sm:px-1.5 max-sm:text-2xs"
        >
          <Icon aria-hidden className="size-4" />
          <span>{label}</span>
        </Link>
      ))}
    </nav>
  );
}
