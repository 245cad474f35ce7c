export function HealthPage() {
  return null;
}
