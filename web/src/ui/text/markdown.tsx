import { memo, type ReactNode } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { ScrollBox } from "../scroll/scroll-box";

const PLUGINS = [remarkGfm];

/** Headings in a text are not part of the page's outline. */
function Heading({ children }: { children?: ReactNode }) {
  return <p className="mt-2 mb-1 font-semibold">{children}</p>;
}

/** Links lead to web addresses only, and images are not loaded: their host would learn who reads the page. */
const PARTS: Components = {
  a: ({ href, children }) =>
    href === undefined || href === "" ? (
      <span>{children}</span>
    ) : (
      <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline">
        {children}
      </a>
    ),
  img: ({ alt, src }) => <span className="text-faint">[image: {alt === undefined || alt === "" ? src : alt}]</span>,
  h1: ({ children }) => <p className="mt-3 mb-1 text-base font-semibold">{children}</p>,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  p: ({ children }) => <p className="my-1.5">{children}</p>,
  ul: ({ children }) => <ul className="my-1.5 list-disc space-y-0.5 pl-5">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="my-1.5 list-decimal space-y-0.5 pl-5">
      {children}
    </ol>
  ),
  input: ({ checked }) => <span aria-label={checked ? "done" : "open"}>{checked ? "[x]" : "[ ]"}</span>,
  code: ({ children }) => <code className="rounded bg-sunken px-1 py-px font-mono text-[0.92em]">{children}</code>,
  pre: ({ children }) => (
    <ScrollBox isMono label="Code" className="my-2 [&_code]:bg-transparent [&_code]:p-0">
      {children}
    </ScrollBox>
  ),
  blockquote: ({ children }) => <blockquote className="my-1.5 border-l-2 border-line-strong pl-3 text-soft">{children}</blockquote>,
  table: ({ children }) => (
    <ScrollBox label="Table" className="my-2">
      <table className="border-collapse text-xs [&_td]:border [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:px-2 [&_th]:py-1 [&_th]:text-left">
        {children}
      </table>
    </ScrollBox>
  ),
};

function onlyWeb(address: string): string {
  return /^https?:\/\//i.test(address) ? address : "";
}

/** Text formatted as Markdown; HTML in it is shown as text, and links lead to web addresses only. */
export const Prose = memo(function Prose({ children }: { children: string }) {
  return (
    <div className="min-w-0 [overflow-wrap:anywhere] [&>:first-child]:mt-0 [&>:last-child]:mb-0">
      <Markdown remarkPlugins={PLUGINS} components={PARTS} urlTransform={onlyWeb}>
        {children}
      </Markdown>
    </div>
  );
});
