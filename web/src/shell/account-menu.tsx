import { useQueryClient } from "@tanstack/react-query";
import { CircleUser, Command as CommandIcon, Keyboard, LogOut, SunMoon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "@/ui/button";
import { chooseTheme, currentTheme } from "@/ui/theme";
import { show } from "./overlays";
import { leave, type Me } from "./session";

/** Who is signed in, and what concerns only them. */
export function AccountMenu({ me }: { me: Me }) {
  const queries = useQueryClient();
  const name = me.name === "" ? me.email : me.name;
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button variant="quiet" size="icon" aria-label={`Account: ${name}`}>
          <CircleUser />
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Content
        align="end"
        sideOffset={4}
        collisionPadding={8}
        // A window that an item opens takes the focus itself.
        onCloseAutoFocus={(event) => {
          if (document.querySelector("[role=dialog]") !== null) event.preventDefault();
        }}
        className="z-50 w-64 rounded-lg border bg-raised p-1 shadow-xl"
      >
        <DropdownMenu.Label className="border-b px-2 py-1.5">
          <p className="truncate text-sm font-medium" title={name}>
            {name}
          </p>
          <p className="truncate text-xs font-normal text-faint" title={me.email}>
            {me.email}
            {me.role === "admin" ? " · administrator" : ""}
          </p>
        </DropdownMenu.Label>
        <Entry icon={<CommandIcon />} onSelect={() => show("palette")}>
          Go anywhere
        </Entry>
        <Entry icon={<Keyboard />} onSelect={() => show("keys")}>
          Keys
        </Entry>
        <Entry icon={<SunMoon />} onSelect={() => chooseTheme(currentTheme() === "dark" ? "light" : "dark")}>
          Switch between light and dark
        </Entry>
        <Entry icon={<LogOut />} onSelect={() => void leave(queries)}>
          Sign out
        </Entry>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

function Entry({ icon, onSelect, children }: { icon: ReactNode; onSelect: () => void; children: string }) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      className="flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[highlighted]:bg-sunken [&_svg]:size-4 [&_svg]:text-faint"
    >
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}
