import { Search } from "lucide-react";
import { useEffect, useRef, useState, type ComponentProps } from "react";
import { cn } from "../cn";
import { Input } from "./field";

const TYPING_MS = 200;

type Rest = Omit<ComponentProps<"input">, "value" | "onChange" | "type" | "className">;

/** A search input. The search starts after a pause in typing; Escape leaves the input. */
export function SearchBox(props: Rest & { label: string; words: string; onWords: (words: string) => void; className?: string }) {
  const { label, words, onWords, className, ...rest } = props;
  const [text, setText] = useState(words);
  const [from, setFrom] = useState(words);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (words !== from) {
    setFrom(words);
    if (words !== text.trim()) setText(words);
  }
  function write(value: string) {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onWords(value.trim()), TYPING_MS);
  }
  return (
    <div className={cn("relative", className)}>
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-faint" />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={300}
        className="pl-7.5"
        {...rest}
        value={text}
        onChange={({ target }) => write(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </div>
  );
}
