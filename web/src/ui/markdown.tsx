import type { ComponentProps } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address);
}

function Anchor({ href, children }: ComponentProps<"a">) {
  if (href === undefined || href === "") return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline">
      {children}
    </a>
  );
}

/** Pictures are not fetched from wherever a text says: what they show is said instead. */
const PARTS: Components = {
  a: ({ href, children }) => <Anchor href={href}>{children}</Anchor>,
  img: ({ alt, src }) => <span className="text-faint">[picture: {alt === undefined || alt === "" ? src : alt}]</span>,
  h1: ({ children }) => <h3 className="text-base font-semibold">{children}</h3>,
  h2: ({ children }) => <h3 className="text-sm font-semibold">{children}</h3>,
  h3: ({ children }) => <h3 className="text-sm font-semibold">{children}</h3>,
  ul: ({ children }) => <ul className="list-disc space-y-0.5 pl-5">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="list-decimal space-y-0.5 pl-5">
      {children}
    </ol>
  ),
  code: ({ children }) => <code className="rounded bg-sunken px-1 py-px font-mono text-[0.8125rem]">{children}</code>,
  pre: ({ children }) => (
    // A wide block is scrolled, with the keyboard too.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre tabIndex={0} className="overflow-x-auto rounded-md border bg-sunken p-2 [&_code]:p-0">
      {children}
    </pre>
  ),
  blockquote: ({ children }) => <blockquote className="border-l-2 border-line-strong pl-3 text-soft">{children}</blockquote>,
  table: ({ children }) => (
    <div className="overflow-x-auto">
      <table className="border-collapse [&_td]:border [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:px-2 [&_th]:py-1">
        {children}
      </table>
    </div>
  ),
};

/** Text that somebody wrote, with its formatting; HTML in it is shown as text and links lead to web addresses only. */
export function Prose({ children }: { children: string }) {
  return (
    <div className="min-w-0 space-y-2 [overflow-wrap:anywhere]">
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={PARTS}
        urlTransform={(address) => (isWebAddress(address) ? address : "")}
      >
        {children}
      </Markdown>
    </div>
  );
}
