import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { invalidate } from "@/api/invalidate";
import { useBatched } from "@/ui/hooks/use-batched";
import type { Signs } from "../liveness/signs";

const GATHER_MS = 1_000;

/** Cost and tokens grow with every turn; the row is looked at again soon after one begins, however fast they come. */
export function useRefreshEachTurn(sandboxId: string, signs: Signs): void {
  const queries = useQueryClient();
  const look = useBatched(() => invalidate(queries, ["sandbox", sandboxId]), GATHER_MS);
  const { turn } = signs;
  useEffect(() => {
    if (turn > 0) look();
  }, [look, turn]);
}
