import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./button";
import { cn } from "./cn";
import { useFocusReturn } from "./hooks/use-focus-return";

/** Focus the first input, or the safest button. */
function focusFirst(event: Event): void {
  const first = (event.currentTarget as Element).querySelector<HTMLElement>("[data-body] :is(input, textarea, select, button)");
  if (first === null) return;
  event.preventDefault();
  first.focus();
}

/** A modal dialog. Escape and a click outside close it, and the focus returns to where it was. */
export function Dialog(props: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: string;
  className?: string;
  children: ReactNode;
}) {
  const focus = useFocusReturn();
  return (
    <Radix.Root open={props.open} onOpenChange={props.onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          onOpenAutoFocus={(event) => {
            focus.remember();
            focusFirst(event);
          }}
          onCloseAutoFocus={focus.giveBack}
          {...(props.description ? {} : { "aria-describedby": undefined })}
          className={cn(
            "fixed top-[8vh] left-1/2 z-50 flex max-h-[84vh] w-[min(40rem,calc(100vw-1.5rem))] -translate-x-1/2 flex-col overflow-hidden rounded-xl border bg-raised shadow-2xl",
            props.className,
          )}
        >
          <div className={cn("flex justify-between gap-4 border-b px-4 py-3", props.description ? "items-start" : "items-center")}>
            <div className="min-w-0">
              <Radix.Title className="text-base font-semibold">{props.title}</Radix.Title>
              {props.description ? (
                <Radix.Description className="text-xs text-faint">{props.description}</Radix.Description>
              ) : null}
            </div>
            <Radix.Close asChild>
              <Button variant="quiet" size="icon" aria-label="Close">
                <X />
              </Button>
            </Radix.Close>
          </div>
          <div data-body className="min-h-0 flex-1 overflow-auto p-4">
            {props.children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
