import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";
import { errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Field, Input, Select } from "@/ui/form/field";
import { sentence } from "@/ui/text/sentence";
import { membersQuery, ROLES, setMember, type ProjectRole } from "./queries";

/** The form that adds a user to a project. */
export function AddMember({ projectId }: { projectId: string }) {
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<ProjectRole>("maintainer");
  const add = useMutation({
    mutationFn: () => setMember(projectId, email, role),
    onSuccess: () => {
      setEmail("");
      return queries.invalidateQueries({ queryKey: membersQuery(projectId).queryKey });
    },
  });
  const isComplete = email.trim() !== "" && !add.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) add.mutate();
  };
  return (
    <form noValidate onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <div className="min-w-56 flex-1">
        <Field label="E-mail address" error={add.isError ? sentence(errorMessage(add.error)) : null}>
          {(ids) => <Input {...ids} type="email" placeholder="ada@example.org" value={email} onChange={({ target }) => setEmail(target.value)} />}
        </Field>
      </div>
      <Field label="Role">
        {(ids) => (
          <Select {...ids} value={role} onChange={({ target }) => setRole(target.value as ProjectRole)}>
            {Object.entries(ROLES).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Button type="submit" variant="primary" disabled={!isComplete}>
        <Plus /> Add member
      </Button>
    </form>
  );
}
