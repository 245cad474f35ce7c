import { memo, useMemo } from "react";
import { spans } from "./ansi";

/** Output of a program with its colours; every part of it is text. */
export const AnsiText = memo(function AnsiText({ text }: { text: string }) {
  const parts = useMemo(() => spans(text), [text]);
  return parts.map((part, index) =>
    part.className === "" ? (
      part.text
    ) : (
      <span key={index} className={part.className}>
        {part.text}
      </span>
    ),
  );
});
