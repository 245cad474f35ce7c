import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, TextArea } from "@/ui/form/field";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { credentialBody, EMPTY_DRAFT, isComplete, isModel, isSsh, needsUrl, PROVIDERS, type Draft, type Provider } from "./credential-draft";
import { addCredential, credentialsQuery } from "./queries";

type Change = (changes: Partial<Draft>) => void;

/** The dialog that adds a credential. The secret is forgotten when it closes. */
export function AddCredentialDialog({ mayShare, onClose }: { mayShare: boolean; onClose: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const change: Change = (changes) => setDraft({ ...draft, ...changes });
  const add = useMutation({
    mutationFn: () => addCredential(credentialBody(draft)),
    onSuccess: ({ name, check }) => {
      const isBad = check === "refused" || check === "unreachable";
      notify(`Added “${name}”.${check === "refused" ? " Its host refuses it." : isBad ? " Its host is unreachable." : ""}`, { isBad });
      onClose();
      void queries.invalidateQueries({ queryKey: credentialsQuery.queryKey });
      void queries.invalidateQueries({ queryKey: ["overview"] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete(draft) && !add.isPending) add.mutate();
  };
  return (
    <Dialog open onOpenChange={onClose} title="Add credential">
      <form noValidate autoComplete="off" onSubmit={submit} className="space-y-3">
        <Field label="Provider">
          {(ids) => (
            <Select {...ids} value={draft.provider} onChange={({ target }) => change({ provider: target.value as Provider })}>
              {Object.entries(PROVIDERS).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Name">
          {(ids) => <Input {...ids} placeholder="Work key" value={draft.name} onChange={({ target }) => change({ name: target.value })} />}
        </Field>
        {needsUrl(draft.provider) ? <Url draft={draft} onChange={change} /> : null}
        <Secret draft={draft} onChange={change} />
        {isModel(draft.provider) ? <ModelFields draft={draft} mayShare={mayShare} onChange={change} /> : null}
        {add.isError ? (
          <p role="alert" className="text-bad [overflow-wrap:anywhere]">
            {sentence(errorMessage(add.error))}
          </p>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={!isComplete(draft) || add.isPending}>
            {add.isPending ? "Checking…" : "Add credential"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Url({ draft, onChange }: { draft: Draft; onChange: Change }) {
  const isGit = draft.provider === "git";
  return (
    <Field label="URL" hint={isGit ? "https://host or ssh://host" : undefined}>
      {(ids) => (
        <Input
          {...ids}
          inputMode="url"
          spellCheck={false}
          placeholder={isGit ? "ssh://git.example.org" : "https://api.z.ai/api/anthropic"}
          value={draft.baseUrl}
          onChange={({ target }) => onChange({ baseUrl: target.value })}
        />
      )}
    </Field>
  );
}

const SECRETS: Readonly<Record<Provider, readonly [label: string, hint: string]>> = {
  anthropic: ["API key", "An API key. The token of a subscription is not allowed here."],
  anthropic_compatible: ["API key", "The key of that host."],
  github: ["Token", "A fine-grained personal access token."],
  git: ["Password or token", ""],
};

function Secret({ draft, onChange }: { draft: Draft; onChange: Change }) {
  const [label, hint] = SECRETS[draft.provider];
  const change = ({ target }: { target: { value: string } }) => onChange({ secret: target.value });
  if (isSsh(draft))
    return (
      <>
        <Field label="Private key" hint="An OpenSSH key without a passphrase.">
          {(ids) => <TextArea {...ids} spellCheck={false} className="font-mono text-xs" value={draft.secret} onChange={change} />}
        </Field>
        <Field label="Known hosts" hint="What ssh-keyscan prints for the host.">
          {(ids) => (
            <TextArea
              {...ids}
              spellCheck={false}
              className="font-mono text-xs"
              value={draft.knownHosts}
              onChange={({ target }) => onChange({ knownHosts: target.value })}
            />
          )}
        </Field>
      </>
    );
  return (
    <>
      {draft.provider === "git" ? (
        <Field label="User name">
          {(ids) => <Input {...ids} spellCheck={false} value={draft.username} onChange={({ target }) => onChange({ username: target.value })} />}
        </Field>
      ) : null}
      <Field label={label} hint={hint}>
        {(ids) => <Input {...ids} type="password" autoComplete="new-password" spellCheck={false} value={draft.secret} onChange={change} />}
      </Field>
    </>
  );
}

function ModelFields({ draft, mayShare, onChange }: { draft: Draft; mayShare: boolean; onChange: Change }) {
  return (
    <>
      <Field label="Model" hint="Leave empty to use the task's model.">
        {(ids) => <Input {...ids} spellCheck={false} value={draft.model} onChange={({ target }) => onChange({ model: target.value })} />}
      </Field>
      {mayShare ? (
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={draft.isShared} onChange={({ target }) => onChange({ isShared: target.checked })} />
          Share with everyone who has no credential
        </label>
      ) : null}
    </>
  );
}
