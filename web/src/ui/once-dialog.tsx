import { Button } from "./button";
import { CopyButton } from "./copy-button";
import { Dialog } from "./dialog";

/** Shows a secret that no later response contains, with a button that copies it. */
export function OnceDialog(props: { title: string; note: string; secret: string; label: string; onClose: () => void }) {
  const { title, note, secret, label, onClose } = props;
  return (
    <Dialog open onOpenChange={onClose} title={title} description={note}>
      <div className="flex items-center gap-2 rounded-md border bg-sunken px-2.5 py-2">
        <code className="min-w-0 flex-1 font-mono text-xs [overflow-wrap:anywhere]">
          {secret}
        </code>
        <CopyButton text={secret} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <div className="mt-4 flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
