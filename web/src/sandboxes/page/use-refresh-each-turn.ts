import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { invalidate } from "@/api/invalidate";
import { useBatched } from "@/ui/hooks/use-batched";
import type { Signs } from "../liveness/signs";

const GATHER_MS = 1_000;

/** Refresh the sandbox row after each turn, because cost and tokens grow; rapid turns share one refresh. */
export function useRefreshEachTurn(sandboxId: string, signs: Signs): void {
  const queries = useQueryClient();
  const look = useBatched(() => invalidate(queries, ["sandbox", sandboxId]), GATHER_MS);
  const { turn } = signs;
  useEffect(() => {
    if (turn > 0) look();
  }, [look, turn]);
}
