import { Tooltip } from "radix-ui";
import { type ReactNode, useState } from "react";

/** A tooltip for a button without another action: shown on hover, on focus, and on a press for touch screens. */
export function Tip({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Tooltip.Root open={isOpen} onOpenChange={setOpen}>
      <Tooltip.Trigger
        asChild
        onClick={(event) => {
          // By default a press closes it.
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
