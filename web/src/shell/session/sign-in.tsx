import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/form/field";
import { sentence } from "@/ui/text/sentence";
import { meQuery, signInWithKey } from "./session";
import { usePageTitle } from "../page-title";

/** The page for users who are not signed in. */
export function SignIn() {
  const queries = useQueryClient();
  usePageTitle("Sign in");
  const [key, setKey] = useState("");
  const [error, setError] = useState<string | null>(null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    try {
      await signInWithKey(key.trim());
    } catch (caught) {
      setError(sentence(errorMessage(caught)));
      return;
    }
    setKey("");
    await queries.resetQueries({ queryKey: meQuery.queryKey });
  }

  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <div className="w-full max-w-sm space-y-5 rounded-xl border bg-surface p-6 shadow-sm">
        <div className="flex items-center gap-2">
          <img src="/icon.svg" alt="" className="size-7" />
          <h1 className="text-lg font-semibold">Sign in to OmoiOS</h1>
        </div>
        <p className="text-soft">
          Open the sign-in link that the server printed when it started. Each link works once. For a new one, run{" "}
          <code className="rounded bg-sunken px-1 py-0.5 font-mono text-xs whitespace-nowrap">omoi sign-in</code> on the server.
        </p>
        <form onSubmit={submit} className="space-y-3 border-t pt-4">
          <Field label="Or use an API key" hint="The first administrator's key is in the file admin-token in the server's data folder." error={error}>
            {(ids) => (
              <Input
                {...ids}
                type="password"
                autoComplete="off"
                placeholder="omoi_…"
                value={key}
                onChange={(event) => setKey(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit" variant="primary" className="w-full" disabled={key.trim() === ""}>
            Sign in
          </Button>
        </form>
      </div>
    </main>
  );
}
