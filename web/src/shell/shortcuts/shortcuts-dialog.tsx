import { Fragment, useState } from "react";
import { Dialog } from "@/ui/dialog";
import { shown } from "./key-matching";
import { shortcutRegistry, keysOf, type Shortcut } from "./shortcuts";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

/** Every shortcut of the current page. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const [groups] = useState(() => shortcutRegistry.groups);
  return (
    <Dialog open onOpenChange={onClose} title="Keyboard shortcuts">
      <div className="gap-8 sm:columns-2">
        {groups.map(({ name, bindings }) => (
          <section key={name} className="mb-5 break-inside-avoid">
            <h3 className="mb-1.5 text-xs font-semibold text-faint">{name}</h3>
            <dl className="space-y-1.5">
              {bindings.map((binding) => (
                <Row key={keysOf(binding).join(",")} binding={binding} />
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function Row({ binding }: { binding: Shortcut }) {
  return (
    <div className="flex items-start justify-between gap-3">
      <dt>{binding.label}</dt>
      <dd className="flex shrink-0 items-center gap-1 text-xs text-faint">
        {keysOf(binding).map((sequence, index) => (
          <Fragment key={sequence}>
            {index > 0 ? "or" : null}
            <Keys sequence={sequence} />
          </Fragment>
        ))}
      </dd>
    </div>
  );
}

/** A sequence of key presses as keycaps. */
export function Keys({ sequence }: { sequence: string }) {
  return shown(sequence, IS_MAC).map((press, index) => (
    <Fragment key={`${index}-${press}`}>
      {index > 0 ? <span>then</span> : null}
      <kbd className="rounded border border-line-strong bg-sunken px-1.5 py-px font-mono text-2xs text-soft">{press}</kbd>
    </Fragment>
  ));
}
