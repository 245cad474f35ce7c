import "@pierre/diffs/worker/worker.js";
