import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Signs } from "../liveness-signs";

const GATHER_MS = 1_000;

/** Cost and tokens grow with every turn; the row is looked at again soon after one begins, however fast they come. */
export function useFreshRow(sandboxId: string, signs: Signs): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const { turn } = signs;
  useEffect(() => {
    if (turn === 0 || timer.current !== undefined) return;
    const look = () => {
      timer.current = undefined;
      void queries.invalidateQueries({ queryKey: ["sandbox", sandboxId] });
    };
    timer.current = setTimeout(look, GATHER_MS);
  }, [queries, sandboxId, turn]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
