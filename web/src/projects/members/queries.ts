import { queryOptions } from "@tanstack/react-query";
import { allItems } from "@/api/all-items";
import { api, unwrap } from "@/api/client";
import type { components } from "@/api/schema";

export type Member = components["schemas"]["MemberOut"];
export type ProjectRole = components["schemas"]["ProjectRole"];

export const ROLES: Record<ProjectRole, string> = {
  owner: "Owner",
  maintainer: "Maintainer",
  viewer: "Viewer",
};

/** The members of a project with their roles. */
export function membersQuery(projectId: string) {
  return queryOptions({
    queryKey: ["project", projectId, "members"],
    queryFn: ({ signal }): Promise<Member[]> =>
      allItems((cursor) => {
        const params = { path: { project_id: projectId }, query: { limit: 200, cursor } };
        return unwrap(api.GET("/api/v1/projects/{project_id}/members", { params, signal }));
      }),
  });
}

/** Add a user by e-mail address, or change a member's role. */
export function setMember(projectId: string, email: string, role: ProjectRole): Promise<Member> {
  const params = { path: { project_id: projectId } };
  return unwrap(api.POST("/api/v1/projects/{project_id}/members", { body: { email, role }, params }));
}

export function removeMember(projectId: string, userId: string): Promise<unknown> {
  const params = { path: { project_id: projectId, user_id: userId } };
  return unwrap(api.DELETE("/api/v1/projects/{project_id}/members/{user_id}", { params }));
}
