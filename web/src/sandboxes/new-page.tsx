export function NewSandboxPage() {
  return null;
}
