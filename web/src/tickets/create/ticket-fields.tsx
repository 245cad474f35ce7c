import { PRIORITIES, TICKET_TYPES } from "@/search";
import { ProjectField } from "@/projects/project-field";
import { Field, Input, Select, TextArea } from "@/ui/form/field";
import { submitOnEnter } from "@/ui/form/submit-on-enter";
import { PRIORITY, TYPE } from "../labels";
import type { FormErrors, TicketForm } from "./ticket-form";

interface FieldsProps {
  form: TicketForm;
  trouble: FormErrors;
  onChange: (changes: Partial<TicketForm>) => void;
}

/** The fields of a new ticket. */
export function TicketFields(props: FieldsProps) {
  const { form, trouble, onChange } = props;
  return (
    <>
      <Field label="Title" error={trouble.title}>
        {(ids) => (
          <Input
            {...ids}
            required
            maxLength={300}
            onKeyDown={submitOnEnter}
            value={form.title}
            onChange={({ target }) => onChange({ title: target.value })}
          />
        )}
      </Field>
      <Field label="Description" error={trouble.description} hint="What the agent should do. Supports Markdown.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={5}
            onKeyDown={submitOnEnter}
            value={form.description}
            onChange={({ target }) => onChange({ description: target.value })}
          />
        )}
      </Field>
      <ProjectField
        projectId={form.projectId}
        newProject={form.newProject}
        error={trouble.project}
        onChange={(changes) => onChange(changes)}
      />
      <Field
        label="Acceptance commands"
        error={trouble.acceptance}
        hint="One per line. All must pass in a fresh sandbox before the ticket is done."
      >
        {(ids) => (
          <TextArea
            {...ids}
            rows={2}
            spellCheck={false}
            className="min-h-14 font-mono text-xs"
            placeholder="make test"
            onKeyDown={submitOnEnter}
            value={form.acceptance}
            onChange={({ target }) => onChange({ acceptance: target.value })}
          />
        )}
      </Field>
      <Choices {...props} />
    </>
  );
}

function Choices({ form, trouble, onChange }: FieldsProps) {
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      <Field label="Type">
        {(ids) => (
          <Select
            {...ids}
            className="w-full"
            value={form.type}
            onChange={({ target }) => onChange({ type: TICKET_TYPES.find((each) => each === target.value) })}
          >
            {TICKET_TYPES.map((type) => (
              <option key={type} value={type}>
                {TYPE[type]}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Priority">
        {(ids) => (
          <Select
            {...ids}
            className="w-full"
            value={form.priority}
            onChange={({ target }) => onChange({ priority: PRIORITIES.find((each) => each === target.value) })}
          >
            {PRIORITIES.map((priority) => (
              <option key={priority} value={priority}>
                {PRIORITY[priority].label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Budget (USD)" error={trouble.budget}>
        {(ids) => (
          <Input
            {...ids}
            inputMode="decimal"
            placeholder="No limit"
            value={form.budget}
            onChange={({ target }) => onChange({ budget: target.value })}
          />
        )}
      </Field>
    </div>
  );
}
