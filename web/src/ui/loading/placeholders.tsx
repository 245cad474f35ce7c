import { Link } from "@tanstack/react-router";
import { LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, errorMessage } from "@/api/client";
import { Button, buttonStyle } from "../button";
import { sentence } from "../text/sentence";

/** Shown while something loads. */
export function Loading({ what }: { what: string }) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 p-10 text-faint">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      Loading {what}…
    </div>
  );
}

/** Shown where there is nothing yet, with the next step. */
export function Empty({ title, children, isPage = false }: { title: string; children?: ReactNode; isPage?: boolean }) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-12 text-center">
      <Heading className="text-base font-semibold">{title}</Heading>
      <div className="text-soft">{children}</div>
    </div>
  );
}

/** Shown when loading failed: the reason and what to do. */
export function LoadError({ what, error, retry }: { what: string; error: unknown; retry?: () => void }) {
  const status = error instanceof ApiError ? error.status : null;
  const isGone = status === 404;
  // Parameters of a loading request come from the address.
  const isMistyped = status === 422;
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-12 text-center">
      <h2 className="text-base font-semibold">{isGone ? `${what} was not found` : `${what} could not be loaded`}</h2>
      <p className="text-soft [overflow-wrap:anywhere]">{isMistyped ? "The address is not valid. Part of it may be missing." : sentence(errorMessage(error))}</p>
      {isGone || isMistyped ? (
        <Link to="/" className={buttonStyle({})}>
          Go to Board
        </Link>
      ) : retry ? (
        <Button onClick={retry}>Try again</Button>
      ) : null}
    </div>
  );
}
