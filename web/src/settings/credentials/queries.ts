import { queryOptions } from "@tanstack/react-query";
import { unwrap, api } from "@/api/client";
import type { components } from "@/api/schema";

export type Credential = components["schemas"]["CredentialOut"];
export type CredentialIn = components["schemas"]["CredentialIn"];

/** The user's credentials, newest first; for an administrator also the shared ones. */
export const credentialsQuery = queryOptions({
  queryKey: ["credentials"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/credentials", { params: { query: { limit: 200 } }, signal })),
});

const path = (credential_id: string) => ({ params: { path: { credential_id } } });

export const addCredential = (body: CredentialIn) => unwrap(api.POST("/api/v1/credentials", { body }));
export const checkCredential = (id: string) => unwrap(api.POST("/api/v1/credentials/{credential_id}/check", path(id)));
export const deleteCredential = (id: string) => unwrap(api.DELETE("/api/v1/credentials/{credential_id}", path(id)));
