import { queryOptions } from "@tanstack/react-query";
import { allItems } from "@/api/all-items";
import { api, newIdempotencyKey, unwrap } from "@/api/client";
import type { components } from "@/api/schema";

type Schemas = components["schemas"];
export type ApiKey = Schemas["ApiKeyOut"];
export type NewApiKey = Schemas["NewApiKeyOut"];
export type Scope = Schemas["Scope"];
export type Session = Schemas["SessionOut"];

/** Your API keys, newest first. */
export const keysQuery = queryOptions({
  queryKey: ["api-keys"],
  queryFn: ({ signal }): Promise<ApiKey[]> =>
    allItems((cursor) => unwrap(api.GET("/api/v1/auth/api-keys", { params: { query: { limit: 200, cursor } }, signal }))),
});

/** The browsers in which you are signed in, newest first. */
export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }): Promise<Session[]> =>
    allItems((cursor) => unwrap(api.GET("/api/v1/auth/sessions", { params: { query: { limit: 200, cursor } }, signal }))),
});

export function createKey(body: { name: string; scope: Scope; expires_at: string | null }): Promise<NewApiKey> {
  return unwrap(api.POST("/api/v1/auth/api-keys", { body, params: { header: { "Idempotency-Key": newIdempotencyKey() } } }));
}

export function revokeKey(keyId: string): Promise<unknown> {
  return unwrap(api.DELETE("/api/v1/auth/api-keys/{key_id}", { params: { path: { key_id: keyId } } }));
}

export function endSession(sessionId: string): Promise<unknown> {
  return unwrap(api.DELETE("/api/v1/auth/sessions/{session_id}", { params: { path: { session_id: sessionId } } }));
}
