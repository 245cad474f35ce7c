import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { errorMessage } from "@/api/client";
import { show } from "@/shell/overlays";
import { Button } from "@/ui/button";
import { sentence } from "@/ui/text/sentence";
import { startDemo } from "../create/demo";
import { place } from "../cache";

/** Shown on the board before the first ticket. */
export function Welcome() {
  const queries = useQueryClient();
  const demo = useMutation({ mutationFn: startDemo, onSuccess: (ticket) => place(queries, ticket) });
  const isBusy = demo.isPending || demo.isSuccess;
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-4 px-4 py-16 text-center">
      <img src="/icon.svg" alt="" className="size-12" />
      <h1 className="text-xl font-semibold">Welcome to OmoiOS</h1>
      <p className="text-soft">
        Write a ticket that says what you want done. An agent works on it in an isolated sandbox, where you can watch and
        steer it. Its work is pushed to a branch and verified with your acceptance commands.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        <Button variant="primary" disabled={isBusy} onClick={() => demo.mutate()}>
          <Play aria-hidden />
          {isBusy ? "Creating sandbox…" : "Run demo task"}
        </Button>
        <Button disabled={isBusy} onClick={() => show("new-ticket")}>
          Create ticket
        </Button>
      </div>
      <p role="alert" className="text-sm text-bad">
        {demo.isError ? sentence(`The demo could not be started: ${errorMessage(demo.error)}`) : null}
      </p>
    </div>
  );
}
