import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Activity, Boxes, HeartPulse, Keyboard, KeyRound, LogOut, Plus, SquareKanban, SunMoon, Ticket as TicketIcon } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { useDeferredValue, useState, type ReactNode } from "react";
import { sandboxStyle, ticketStyle } from "@/outcome/outcome";
import { sandboxesQuery } from "@/sandboxes/queries";
import { ticketSearchQuery } from "@/tickets/queries";
import { Dot } from "@/ui/badge";
import { setTheme, currentTheme } from "@/ui/theme";
import { useFocusReturn } from "@/ui/hooks/use-focus-return";
import { Keys } from "./shortcuts/shortcuts-dialog";
import { show } from "./overlays";
import { signOut } from "./session/session";

const ITEM =
  "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm data-[selected=true]:bg-accent-soft [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-2xs [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:text-faint";

/** Rank a match: every word must be contained, and matches at the start of a word rank first. */
function worth(value: string, typed: string): number {
  const [text, words] = [value.toLowerCase(), typed.toLowerCase().split(/\s+/)];
  if (!words.every((word) => text.includes(word))) return 0;
  return words.every((word) => ` ${text}`.includes(` ${word}`)) ? 1 : 0.5;
}

/** Finds pages, tickets, sandboxes and commands by a few letters. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState("");
  const focus = useFocusReturn();
  const then = (run: () => unknown) => () => {
    onClose();
    run();
  };
  return (
    <Radix.Root open onOpenChange={onClose}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          aria-describedby={undefined}
          onOpenAutoFocus={focus.remember}
          onCloseAutoFocus={focus.giveBack}
          onKeyDown={(event) => {
            if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            onClose();
          }}
          className="fixed top-[10vh] left-1/2 z-50 w-[min(36rem,calc(100vw-1.5rem))] -translate-x-1/2 overflow-hidden rounded-xl border bg-raised shadow-2xl"
        >
          <Radix.Title className="sr-only">Command palette</Radix.Title>
          <Command label="Search everything" loop filter={worth}>
            <Command.Input
              value={words}
              onValueChange={setWords}
              placeholder="Search pages, tickets, sandboxes and commands"
              className="h-11 w-full border-b bg-transparent px-4 text-sm outline-none placeholder:text-faint"
            />
            <Command.List className="max-h-[60vh] overflow-y-auto p-1.5">
              <Command.Empty className="px-3 py-6 text-center text-soft">No results.</Command.Empty>
              <Doings then={then} />
              <Places then={then} />
              <Tickets words={words} then={then} />
              <Sandboxes then={then} />
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

type Then = (run: () => unknown) => () => void;

function Doings({ then }: { then: Then }) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Commands" className={GROUP}>
      <Item icon={<Plus />} keys="c" onSelect={then(() => show("new-ticket"))}>
        New ticket
      </Item>
      <Item icon={<Plus />} onSelect={then(() => navigate({ to: "/sandbox/new" }))}>
        New sandbox
      </Item>
      <Item icon={<SunMoon />} onSelect={then(() => setTheme(currentTheme() === "dark" ? "light" : "dark"))}>
        Toggle dark mode
      </Item>
      <Item icon={<Keyboard />} keys="?" onSelect={then(() => show("keys"))}>
        Show keyboard shortcuts
      </Item>
      <Item icon={<LogOut />} onSelect={then(() => signOut())}>
        Sign out
      </Item>
    </Command.Group>
  );
}

function Places({ then }: { then: Then }) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Go to" className={GROUP}>
      <Item icon={<SquareKanban />} keys="g b" onSelect={then(() => navigate({ to: "/" }))}>
        Board
      </Item>
      <Item icon={<Boxes />} keys="g s" onSelect={then(() => navigate({ to: "/sandboxes" }))}>
        Sandboxes
      </Item>
      <Item icon={<Activity />} keys="g a" onSelect={then(() => navigate({ to: "/activity" }))}>
        Activity
      </Item>
      <Item icon={<HeartPulse />} keys="g h" onSelect={then(() => navigate({ to: "/health-overview" }))}>
        Health
      </Item>
      <Item icon={<KeyRound />} onSelect={then(() => navigate({ to: "/settings/credentials" }))}>
        My credentials
      </Item>
    </Command.Group>
  );
}

function Tickets({ words, then }: { words: string; then: Then }) {
  const navigate = useNavigate();
  const tickets = useQuery(ticketSearchQuery(useDeferredValue(words.trim())));
  if (tickets.data === undefined || tickets.data.items.length === 0) return null;
  return (
    <Command.Group heading="Tickets" className={GROUP}>
      {tickets.data.items.map(({ id, title, status, outcome }) => (
        <Command.Item
          key={id}
          value={`${title} ${id}`}
          className={ITEM}
          onSelect={then(() => navigate({ to: "/tickets/$ticketId", params: { ticketId: id } }))}
        >
          <TicketIcon aria-hidden />
          <span className="min-w-0 flex-1 truncate" title={title}>
            {title}
          </span>
          <Dot tone={ticketStyle({ status, outcome }).tone} />
          <span className="text-xs text-faint">{ticketStyle({ status, outcome }).label}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

function Sandboxes({ then }: { then: Then }) {
  const navigate = useNavigate();
  const sandboxes = useQuery(sandboxesQuery({}));
  if (sandboxes.data === undefined || sandboxes.data.items.length === 0) return null;
  return (
    <Command.Group heading="Sandboxes" className={GROUP}>
      {sandboxes.data.items.map(({ id, status, outcome, task_title }) => (
        <Command.Item
          key={id}
          value={`${task_title ?? ""} ${id}`}
          className={ITEM}
          onSelect={then(() => navigate({ to: "/sandbox/$sandboxId", params: { sandboxId: id } }))}
        >
          <Boxes aria-hidden />
          <span className="min-w-0 flex-1 truncate" title={task_title ?? undefined}>
            {task_title ?? "Spec"}
          </span>
          <span className="font-mono text-2xs text-faint max-sm:hidden">{id}</span>
          <span className="text-xs text-faint">{sandboxStyle({ status, outcome }).label}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

function Item(props: { icon: ReactNode; keys?: string; onSelect: () => void; children: string }) {
  return (
    <Command.Item onSelect={props.onSelect} className={ITEM}>
      {props.icon}
      <span className="flex-1">{props.children}</span>
      {props.keys === undefined ? null : (
        <span className="flex items-center gap-1 text-2xs text-faint">
          <Keys sequence={props.keys} />
        </span>
      )}
    </Command.Item>
  );
}
