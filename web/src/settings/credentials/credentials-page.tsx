import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { errorMessage } from "@/api/client";
import { usePageTitle } from "@/shell/page-title";
import { meQuery } from "@/shell/session/session";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Empty, Loading, LoadError } from "@/ui/loading/placeholders";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { Ago } from "@/ui/time/time";
import { AddCredentialDialog } from "./add-credential-dialog";
import { PROVIDERS } from "./credential-draft";
import { DeleteCredentialDialog } from "./delete-credential-dialog";
import { checkCredential, credentialsQuery, type Credential } from "./queries";

/** The user's credentials for models and forges. */
export function CredentialsPage() {
  const credentials = useQuery(credentialsQuery);
  const { data: me } = useQuery(meQuery);
  const [isAdding, setAdding] = useState(false);
  usePageTitle("My credentials");
  if (credentials.isPending) return <Loading what="credentials" />;
  if (credentials.data === undefined)
    return <LoadError what="Credentials" error={credentials.error} retry={() => void credentials.refetch()} />;
  const { items } = credentials.data;
  return (
    <div className="mx-auto max-w-4xl space-y-3 p-4">
      <header className="flex flex-wrap items-start justify-between gap-2">
        <div>
          <h1 className="text-lg font-semibold">My credentials</h1>
          <p className="text-soft">Your tasks use your own keys. They are stored encrypted, and nobody can read them back.</p>
        </div>
        <Button variant="primary" onClick={() => setAdding(true)}>
          <Plus /> Add credential
        </Button>
      </header>
      {items.length === 0 ? (
        <Empty title="No credentials yet">Add an API key to run your tasks with a real model.</Empty>
      ) : (
        <ul className="divide-y rounded-lg border bg-surface">
          {items.map((credential) => (
            <Row key={credential.id} credential={credential} />
          ))}
        </ul>
      )}
      {isAdding ? <AddCredentialDialog mayShare={me?.role === "admin"} onClose={() => setAdding(false)} /> : null}
    </div>
  );
}

const CHECKS: Record<NonNullable<Credential["check"]>, readonly [label: string, tone: Tone]> = {
  ok: ["accepted", "good"],
  refused: ["refused", "bad"],
  unreachable: ["host unreachable", "warn"],
};

function Row({ credential }: { credential: Credential }) {
  const [isDeleting, setDeleting] = useState(false);
  const { provider, name, last_four, base_url, model, is_default, shared, check } = credential;
  const [label, tone] = check === null ? (["not checked", "neutral"] as const) : CHECKS[check];
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <KeyRound aria-hidden className="size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
          {is_default ? <Badge>default</Badge> : null}
          {shared ? <Badge tone="info">shared</Badge> : null}
          <Badge tone={tone}>{label}</Badge>
        </p>
        <p className="text-xs text-faint [overflow-wrap:anywhere]">
          {[PROVIDERS[provider], base_url, model, last_four === "" ? null : `ends in ${last_four}`].filter(Boolean).join(" · ")}
          {" · "}
          {credential.last_used_at === null ? (
            "never used"
          ) : (
            <>
              used <Ago at={credential.last_used_at} />
            </>
          )}
        </p>
      </div>
      {provider === "git" ? null : <CheckButton credential={credential} />}
      <Button size="small" variant="danger" aria-label={`Delete ${name}`} onClick={() => setDeleting(true)}>
        <Trash2 /> Delete
      </Button>
      {isDeleting ? <DeleteCredentialDialog credential={credential} onClose={() => setDeleting(false)} /> : null}
    </li>
  );
}

function CheckButton({ credential }: { credential: Credential }) {
  const queries = useQueryClient();
  const check = useMutation({
    mutationFn: () => checkCredential(credential.id),
    onSuccess: (found) => notify(`${found.name}: ${found.check === null ? "not checked" : CHECKS[found.check][0]}.`),
    onError: (error) => notify(sentence(errorMessage(error)), { isBad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: credentialsQuery.queryKey }),
  });
  return (
    <Button size="small" aria-label={`Check ${credential.name}`} disabled={check.isPending} onClick={() => check.mutate()}>
      <RefreshCw /> {check.isPending ? "Checking…" : "Check"}
    </Button>
  );
}
