import { queryOptions } from "@tanstack/react-query";
import { allItems } from "@/api/all-items";
import { api, newIdempotencyKey, unwrap } from "@/api/client";
import type { components } from "@/api/schema";

type Schemas = components["schemas"];
export type User = Schemas["UserOut"];
export type Role = Schemas["Role"];

/** Every user of the installation, newest first; for administrators. */
export const usersQuery = queryOptions({
  queryKey: ["users"],
  queryFn: ({ signal }): Promise<User[]> =>
    allItems((cursor) => unwrap(api.GET("/api/v1/users", { params: { query: { limit: 200, cursor } }, signal }))),
});

export function addUser(body: { email: string; name: string; role: Role }): Promise<User> {
  return unwrap(api.POST("/api/v1/users", { body, params: { header: { "Idempotency-Key": newIdempotencyKey() } } }));
}

export function changeUser(userId: string, body: Schemas["UserPatch"]): Promise<User> {
  return unwrap(api.PATCH("/api/v1/users/{user_id}", { body, params: { path: { user_id: userId } } }));
}

export function createSignInLink(userId: string): Promise<Schemas["SignInLinkOut"]> {
  return unwrap(api.POST("/api/v1/users/{user_id}/sign-in-link", { params: { path: { user_id: userId } } }));
}
