import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select } from "@/ui/form/field";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { addUser, usersQuery, type Role } from "./queries";

/** The dialog that adds a user. */
export function AddUserDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const add = useMutation({
    mutationFn: () => addUser({ email, name, role }),
    onSuccess: (user) => {
      notify(`Added ${user.email}. Create a sign-in link to invite them.`);
      onClose();
      void queries.invalidateQueries({ queryKey: usersQuery.queryKey });
    },
  });
  const isComplete = email.trim() !== "" && name.trim() !== "" && !add.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) add.mutate();
  };
  return (
    <Dialog open onOpenChange={onClose} title="Add user">
      <form noValidate onSubmit={submit} className="space-y-3">
        <Field label="E-mail address">
          {(ids) => <Input {...ids} type="email" placeholder="ada@example.org" value={email} onChange={({ target }) => setEmail(target.value)} />}
        </Field>
        <Field label="Name">{(ids) => <Input {...ids} value={name} onChange={({ target }) => setName(target.value)} />}</Field>
        <Field label="Role">
          {(ids) => (
            <Select {...ids} value={role} onChange={({ target }) => setRole(target.value as Role)}>
              <option value="member">Member</option>
              <option value="admin">Administrator</option>
            </Select>
          )}
        </Field>
        {add.isError ? (
          <p role="alert" className="text-bad [overflow-wrap:anywhere]">
            {sentence(errorMessage(add.error))}
          </p>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={!isComplete}>
            Add user
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
