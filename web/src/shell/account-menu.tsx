import { useNavigate } from "@tanstack/react-router";
import { Check, CircleUser, Command as CommandIcon, FolderGit2, Keyboard, KeyRound, LogOut, SunMoon, Users } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { useTimes } from "@/ui/time/time";
import { setTheme, currentTheme } from "@/ui/theme";
import { chooseTimes } from "@/ui/time/time-preference";
import { show } from "./overlays";
import { signOut, type Me } from "./session/session";

const ITEM =
  "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[highlighted]:bg-sunken [&_svg]:size-4 [&_svg]:text-faint";

/** The signed-in user, with personal settings. */
export function AccountMenu({ me }: { me: Me }) {
  const times = useTimes();
  const navigate = useNavigate();
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
        // A dialog that an item opens takes the focus itself.
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
        <Entry icon={<FolderGit2 />} onSelect={() => void navigate({ to: "/projects" })}>
          Projects and members
        </Entry>
        <Entry icon={<KeyRound />} onSelect={() => void navigate({ to: "/settings/access" })}>
          Keys and sessions
        </Entry>
        {me.role === "admin" ? (
          <Entry icon={<Users />} onSelect={() => void navigate({ to: "/settings/users" })}>
            Users
          </Entry>
        ) : null}
        <Entry icon={<KeyRound />} onSelect={() => void navigate({ to: "/settings/credentials" })}>
          My credentials
        </Entry>
        <Entry icon={<CommandIcon />} onSelect={() => show("palette")}>
          Command palette
        </Entry>
        <Entry icon={<Keyboard />} onSelect={() => show("keys")}>
          Keyboard shortcuts
        </Entry>
        <Entry icon={<SunMoon />} onSelect={() => setTheme(currentTheme() === "dark" ? "light" : "dark")}>
          Toggle dark mode
        </Entry>
        <Choice isChosen={times.isExact} onChange={(isExact) => chooseTimes({ isExact })}>
          Show absolute times
        </Choice>
        <Choice isChosen={times.isUtc} onChange={(isUtc) => chooseTimes({ isUtc })}>
          Show times in UTC
        </Choice>
        <Entry icon={<LogOut />} onSelect={() => void signOut()}>
          Sign out
        </Entry>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

function Choice({ isChosen, onChange, children }: { isChosen: boolean; onChange: (isChosen: boolean) => void; children: string }) {
  return (
    <DropdownMenu.CheckboxItem checked={isChosen} onCheckedChange={onChange} className={cn(ITEM, "pl-8 data-[state=checked]:pl-2")}>
      <DropdownMenu.ItemIndicator>
        <Check />
      </DropdownMenu.ItemIndicator>
      {children}
    </DropdownMenu.CheckboxItem>
  );
}

function Entry({ icon, onSelect, children }: { icon: ReactNode; onSelect: () => void; children: string }) {
  return (
    <DropdownMenu.Item onSelect={onSelect} className={ITEM}>
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}
