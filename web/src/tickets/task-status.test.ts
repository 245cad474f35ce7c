import { describe, expect, it } from "vitest";
import type { Sandbox, Task, Ticket } from "@/api/client";
import { describeTask, isOpen, leadingTask } from "./task-status";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const task = (status: Task["status"], more: Partial<Task> = {}) => ({ id: status, status, attempt: 1, ...more }) as Task;
const sandbox = (beat: number, work: number) =>
  ({ last_heartbeat_at: before(beat), last_work_at: before(work) }) as Sandbox;

describe("a running agent", () => {
  it("is working while there is activity", () => {
    expect(describeTask(task("running"), sandbox(10, 30), NOW).label).toBe("Working");
    expect(describeTask(task("running"), undefined, NOW).label).toBe("Working");
  });

  it("is idle if there are only heartbeats", () => {
    expect(describeTask(task("running"), sandbox(10, 400), NOW)).toMatchObject({ label: "Idle for 6m", tone: "warn" });
  });

  it("is marked as silent without heartbeats", () => {
    expect(describeTask(task("running"), sandbox(200, 400), NOW)).toMatchObject({ label: "No heartbeat for 3m", tone: "bad" });
  });

  it("is not silent while events arrive", () => {
    expect(describeTask(task("running"), sandbox(200, 5), NOW).label).toBe("Working");
  });
});

it("shows whether a result was verified and whether a task is queued for retry", () => {
  const ended = (outcome: Task["outcome"]) => describeTask(task("completed", { outcome }), undefined, NOW);
  expect(ended("verified")).toMatchObject({ label: "Verified", tone: "good" });
  expect(ended("unchecked")).toMatchObject({ label: "Unchecked", tone: "neutral" });
  expect(ended("failed")).toMatchObject({ label: "Failed", tone: "bad" });
  expect(describeTask(task("pending", { attempt: 2 }), undefined, NOW).label).toBe("Queued for retry");
});

it("prefers running over failed and finished tasks", () => {
  const tasks = [task("completed"), task("failed"), task("running")];
  expect(leadingTask({ tasks } as Ticket)?.status).toBe("running");
  expect(leadingTask({ tasks: tasks.slice(0, 2) } as Ticket)?.status).toBe("failed");
  expect(leadingTask({ tasks: [] as Task[] } as Ticket)).toBeUndefined();
});

it("counts a task as open until it is completed, failed or cancelled", () => {
  const states = ["blocked", "pending", "assigned", "running", "verifying", "completed", "failed", "cancelled"] as const;
  expect(states.filter((status) => isOpen(task(status)))).toEqual(["blocked", "pending", "assigned", "running", "verifying"]);
});
