import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Signs } from "../liveness-signs";

const GATHER_MS = 1_000;

/** Cost and tokens grow with every turn; the row is looked at again soon after one begins. */
export function useFreshRow(sandboxId: string, signs: Signs): void {
  const queries = useQueryClient();
  const { turn } = signs;
  useEffect(() => {
    if (turn === 0) return;
    const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: ["sandbox", sandboxId] }), GATHER_MS);
    return () => clearTimeout(timer);
  }, [queries, sandboxId, turn]);
}
