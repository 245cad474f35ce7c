import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { loadAgain } from "@/api/invalidate";
import { useGathered } from "@/ui/hooks/use-batched";
import type { Signs } from "../liveness/signs";

const GATHER_MS = 1_000;

/** Cost and tokens grow with every turn; the row is looked at again soon after one begins, however fast they come. */
export function useFreshRow(sandboxId: string, signs: Signs): void {
  const queries = useQueryClient();
  const look = useGathered(() => loadAgain(queries, ["sandbox", sandboxId]), GATHER_MS);
  const { turn } = signs;
  useEffect(() => {
    if (turn > 0) look();
  }, [look, turn]);
}
