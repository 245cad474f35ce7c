import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/confirm-dialog";
import { LoadError, Loading } from "@/ui/loading/placeholders";
import { serverNow } from "@/ui/time/server-clock";
import { Ago } from "@/ui/time/time";
import { CreateKeyDialog } from "./create-key-dialog";
import { keyStatus } from "./key-status";
import { keysQuery, revokeKey, type ApiKey } from "./queries";

/** The user's API keys. */
export function Keys() {
  const keys = useQuery(keysQuery);
  const [isCreating, setCreating] = useState(false);
  return (
    <section aria-labelledby="keys" className="space-y-2">
      <header className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="keys" className="font-semibold">
          API keys
        </h2>
        <Button variant="primary" onClick={() => setCreating(true)}>
          <Plus /> Create key
        </Button>
      </header>
      {keys.isPending ? <Loading what="keys" /> : null}
      {keys.isError ? <LoadError what="Your keys" error={keys.error} retry={() => void keys.refetch()} /> : null}
      {keys.data === undefined ? null : keys.data.length === 0 ? (
        <p className="text-soft">You have no API keys. Programs and `git` use one to act as you.</p>
      ) : (
        <ul className="divide-y rounded-lg border bg-surface">
          {keys.data.map((key) => (
            <Row key={key.id} apiKey={key} />
          ))}
        </ul>
      )}
      {isCreating ? <CreateKeyDialog onClose={() => setCreating(false)} /> : null}
    </section>
  );
}

function Row({ apiKey }: { apiKey: ApiKey }) {
  const queries = useQueryClient();
  const [isRevoking, setRevoking] = useState(false);
  const [label, tone] = keyStatus(apiKey, serverNow());
  const { name, scope, last_four, last_used_at, expires_at } = apiKey;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <KeyRound aria-hidden className="size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
          <Badge>{scope}</Badge>
          <Badge tone={tone}>{label}</Badge>
        </p>
        <p className="text-xs text-faint">
          ends in {last_four} ·{" "}
          {last_used_at === null ? (
            "never used"
          ) : (
            <>
              used <Ago at={last_used_at} />
            </>
          )}
          {expires_at === null ? "" : ` · until ${expires_at.slice(0, 10)}`}
        </p>
      </div>
      {apiKey.revoked_at === null ? (
        <Button size="small" variant="danger" aria-label={`Revoke ${name}`} onClick={() => setRevoking(true)}>
          Revoke
        </Button>
      ) : null}
      {isRevoking ? (
        <ConfirmDialog
          title="Revoke this key?"
          subject={name}
          action="Revoke key"
          cancel="Keep key"
          perform={() => revokeKey(apiKey.id).then(() => queries.invalidateQueries({ queryKey: keysQuery.queryKey }))}
          onClose={() => setRevoking(false)}
        >
          Programs that use it are refused at once, and browsers that were signed in with it are signed out.
        </ConfirmDialog>
      ) : null}
    </li>
  );
}
