import { Tooltip } from "radix-ui";
import { type ReactNode, useState } from "react";

/** Says more about a button that does nothing else: on hover, on focus, and when it is pressed, for who has no pointer. */
export function Tip({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Tooltip.Root open={isOpen} onOpenChange={setOpen}>
      <Tooltip.Trigger
        asChild
        onClick={(event) => {
          // By itself a press shuts it.
          event.preventDefault();
          setOpen(true);
        }}
      >
        {children}
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-w-80 space-y-1 rounded-md bg-text px-2.5 py-1.5 text-xs text-ground shadow-lg"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
