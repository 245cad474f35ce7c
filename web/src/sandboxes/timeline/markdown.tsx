import { memo } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { plain } from "./ansi";
import { ScrollBox } from "./scroll-box";

const PLUGINS = [remarkGfm];

/** An agent's links lead to the web or nowhere, and its pictures are not fetched: whoever draws one learns who looks. */
const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href !== undefined && /^https?:\/\//i.test(href) ? (
      <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline [overflow-wrap:anywhere]">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ alt }) => <span className="text-faint">[picture: {alt === undefined || alt === "" ? "untitled" : alt}]</span>,
  pre: ({ children }) => (
    <ScrollBox isMono label="Code" className="my-2 [&_code]:bg-transparent [&_code]:p-0">
      {children}
    </ScrollBox>
  ),
  code: ({ children }) => <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.92em]">{children}</code>,
  table: ({ children }) => (
    <ScrollBox label="Table" className="my-2">
      <table className="text-xs [&_td]:border [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:px-2 [&_th]:py-1 [&_th]:text-left">
        {children}
      </table>
    </ScrollBox>
  ),
  h1: ({ children }) => <p className="mt-3 mb-1 text-base font-semibold">{children}</p>,
  h2: ({ children }) => <p className="mt-3 mb-1 font-semibold">{children}</p>,
  h3: ({ children }) => <p className="mt-2 mb-1 font-semibold">{children}</p>,
  h4: ({ children }) => <p className="mt-2 mb-1 font-medium">{children}</p>,
  h5: ({ children }) => <p className="mt-2 mb-1 font-medium">{children}</p>,
  h6: ({ children }) => <p className="mt-2 mb-1 font-medium">{children}</p>,
  ul: ({ children }) => <ul className="my-1 list-disc pl-5">{children}</ul>,
  ol: ({ children }) => <ol className="my-1 list-decimal pl-5">{children}</ol>,
  p: ({ children }) => <p className="my-1">{children}</p>,
  blockquote: ({ children }) => <blockquote className="my-1 border-l-2 border-line-strong pl-3 text-soft">{children}</blockquote>,
  input: ({ checked }) => <span aria-label={checked ? "done" : "open"}>{checked ? "[x]" : "[ ]"}</span>,
};

/** Text that a model wrote, as markdown without any HTML of its own. */
export const ModelText = memo(function ModelText({ text }: { text: string }) {
  return (
    <div className="min-w-0 [overflow-wrap:anywhere] [&>:first-child]:mt-0 [&>:last-child]:mb-0">
      <Markdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {plain(text)}
      </Markdown>
    </div>
  );
});
