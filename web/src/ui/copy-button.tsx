import { Check, Copy } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button, type ButtonProps } from "./button";
import { notify } from "./notices";

type CopyProps = { text: string | (() => Promise<string>); label: string; icon?: ReactNode } & ButtonProps;

/** Copies a text to the clipboard and confirms it briefly. */
export function CopyButton({ text, label, icon = <Copy />, ...rest }: CopyProps) {
  const [said, setSaid] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), 1500);
    return () => clearTimeout(timer);
  }, [said]);
  async function copy() {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      setSaid("copied");
    } catch {
      setSaid("failed");
      notify("Copying failed: the text could not be loaded, or the browser blocked it.", { isBad: true });
    }
  }
  return (
    <Button variant="quiet" size="icon" className="size-6 [&_svg]:size-3.5" aria-label={label} title={label} {...rest} onClick={() => void copy()}>
      {said === "copied" ? <Check className="text-good" /> : icon}
      <span role="status" className="sr-only">
        {said === "copied" ? "Copied" : ""}
      </span>
    </Button>
  );
}
