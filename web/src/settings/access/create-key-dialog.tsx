import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { errorMessage } from "@/api/client";
import { meQuery } from "@/shell/session/session";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select } from "@/ui/form/field";
import { OnceDialog } from "@/ui/once-dialog";
import { sentence } from "@/ui/text/sentence";
import { serverNow } from "@/ui/time/server-clock";
import { createKey, keysQuery, type Scope } from "./queries";

const DAY = 86_400_000;
const SCOPES: Record<Scope, string> = {
  read: "Read only",
  write: "Read and write",
  admin: "Everything, including administration",
};

/** The dialog that creates an API key and then shows it once. */
export function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("write");
  const [days, setDays] = useState("90");
  const create = useMutation({
    mutationFn: () => {
      const expiresAt = days === "" ? null : new Date(serverNow() + Number(days) * DAY).toISOString();
      return createKey({ name, scope, expires_at: expiresAt });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
  if (create.data !== undefined)
    return <OnceDialog title="Your new key" note="Store it now: it cannot be shown again." secret={create.data.key} label="API key" onClose={onClose} />;
  const isComplete = name.trim() !== "" && !create.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) create.mutate();
  };
  const offered = (Object.keys(SCOPES) as Scope[]).filter((each) => each !== "admin" || me?.role === "admin");
  return (
    <Dialog open onOpenChange={onClose} title="Create key">
      <form noValidate onSubmit={submit} className="space-y-3">
        <Field label="Name" hint="Such as the machine that uses it.">
          {(ids) => <Input {...ids} value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
        <Field label="Scope">
          {(ids) => (
            <Select {...ids} value={scope} onChange={({ target }) => setScope(target.value as Scope)}>
              {offered.map((each) => (
                <option key={each} value={each}>
                  {SCOPES[each]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Expires">
          {(ids) => (
            <Select {...ids} value={days} onChange={({ target }) => setDays(target.value)}>
              <option value="30">In 30 days</option>
              <option value="90">In 90 days</option>
              <option value="365">In a year</option>
              <option value="">Never</option>
            </Select>
          )}
        </Field>
        {create.isError ? (
          <p role="alert" className="text-bad [overflow-wrap:anywhere]">
            {sentence(errorMessage(create.error))}
          </p>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={!isComplete}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
