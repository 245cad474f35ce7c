import type { ReactNode } from "react";
import { cn } from "@/ui/cn";
import { escapeControls } from "@/ui/text/control-characters";

export interface Figure {
  name: string;
  a: ReactNode;
  b: ReactNode;
  differs: boolean;
}

/** A table of figures for both sandboxes; differences are highlighted. */
export function FiguresTable({ caption, figures }: { caption: string; figures: readonly Figure[] }) {
  return (
    <section className="overflow-hidden rounded-lg border bg-surface">
      <table className="w-full table-fixed text-xs">
        <caption className="border-b px-3 py-2 text-left text-xs font-semibold text-soft">{caption}</caption>
        <thead className="border-b bg-sunken text-left text-2xs text-soft">
          <tr>
            <th scope="col" className="px-3 font-medium">
              <span className="sr-only">Name</span>
            </th>
            <th scope="col" className="px-2 font-medium">Sandbox A</th>
            <th scope="col" className="px-2 font-medium">Sandbox B</th>
          </tr>
        </thead>
        <tbody>
          {figures.map((figure) => (
            <tr key={figure.name} className={cn("border-b last:border-b-0", figure.differs && "bg-warn-soft")}>
              <th scope="row" className="px-3 py-1 text-left align-top font-normal [overflow-wrap:anywhere] text-soft">
                {escapeControls(figure.name)}
                {figure.differs ? <span className="sr-only"> (differs)</span> : null}
              </th>
              <td className="px-2 py-1 align-top [overflow-wrap:anywhere] tabular-nums">{figure.a}</td>
              <td className="px-2 py-1 align-top [overflow-wrap:anywhere] tabular-nums">{figure.b}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {figures.length === 0 ? <p className="p-3 text-xs text-faint">None in either sandbox.</p> : null}
    </section>
  );
}

/** Return two maps as figures, sorted by name. */
export function counted<T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>, show: (value: T | undefined) => string): Figure[] {
  const names = [...new Set([...a.keys(), ...b.keys()])].toSorted();
  return names.map((name) => {
    const [left, right] = [show(a.get(name)), show(b.get(name))];
    return { name, a: left, b: right, differs: left !== right };
  });
}
