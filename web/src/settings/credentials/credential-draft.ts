import type { CredentialIn } from "./queries";

export type Provider = CredentialIn["provider"];

/** What the form for a new credential holds. */
export interface Draft {
  provider: Provider;
  name: string;
  secret: string;
  baseUrl: string;
  model: string;
  username: string;
  knownHosts: string;
  isShared: boolean;
}

export const EMPTY_DRAFT: Draft = {
  provider: "anthropic",
  name: "",
  secret: "",
  baseUrl: "",
  model: "",
  username: "",
  knownHosts: "",
  isShared: false,
};

export const PROVIDERS: Readonly<Record<Provider, string>> = {
  anthropic: "Anthropic",
  anthropic_compatible: "Anthropic-compatible host",
  github: "GitHub",
  git: "Git host",
};

/** Whether a credential of this provider pays for model calls. */
export function isModel(provider: Provider): boolean {
  return provider === "anthropic" || provider === "anthropic_compatible";
}

/** Whether the form asks for the address of a host. */
export function needsUrl(provider: Provider): boolean {
  return provider === "anthropic_compatible" || provider === "git";
}

/** Whether a git host is reached over SSH, with a private key. */
export function isSsh({ provider, baseUrl }: Draft): boolean {
  return provider === "git" && baseUrl.trim().toLowerCase().startsWith("ssh://");
}

/** Whether everything that the provider needs is filled in; the server checks the rest. */
export function isComplete(draft: Draft): boolean {
  const { provider, name, secret, baseUrl, username, knownHosts } = draft;
  if (name.trim() === "" || secret.trim() === "" || (needsUrl(provider) && baseUrl.trim() === "")) return false;
  if (provider !== "git") return true;
  return isSsh(draft) ? knownHosts.trim() !== "" : username.trim() !== "";
}

function text(value: string, applies: boolean): string | null {
  return applies && value.trim() !== "" ? value.trim() : null;
}

/** Return the request for a draft, with the fields of its provider only. */
export function credentialBody(draft: Draft): CredentialIn {
  const { provider } = draft;
  return {
    provider,
    name: draft.name.trim(),
    secret: draft.secret.trim(),
    base_url: text(draft.baseUrl, needsUrl(provider)),
    model: text(draft.model, isModel(provider)),
    username: text(draft.username, provider === "git" && !isSsh(draft)),
    known_hosts: text(draft.knownHosts, isSsh(draft)),
    shared: draft.isShared && isModel(provider),
  };
}
