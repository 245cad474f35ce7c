import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { checkSession } from "@/api/client";
import { Connection, type ConnectionState } from "./connection";
import type { Listener, Topic } from "./subscriptions";

const Live = createContext<Connection | null>(null);

function address(): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/api/v1/ws/events?types=none`;
}

/** Provides the tab's connection; subscriptions start at `since`. */
export function LiveProvider({ since, children }: { since: string; children: ReactNode }) {
  const [connection] = useState(() => new Connection(address(), since, () => void checkSession()));
  useEffect(() => {
    connection.start();
    return () => connection.stop();
  }, [connection]);
  return <Live value={connection}>{children}</Live>;
}

export function useConnection(): Connection {
  const connection = useContext(Live);
  if (connection === null) throw new Error("useConnection requires a LiveProvider");
  return connection;
}

export function useConnectionState(): ConnectionState {
  const connection = useConnection();
  return useSyncExternalStore(
    (changed) => connection.watch(changed),
    () => connection.state,
  );
}

/** Subscribe to a topic while the component is mounted; the latest listener is called. */
export function useLive(topic: Topic, listener: Listener): void {
  const connection = useConnection();
  const newest = useRef(listener);
  useEffect(() => {
    newest.current = listener;
  });
  const key = JSON.stringify(topic);
  useEffect(
    () =>
      connection.subscribe(JSON.parse(key) as Topic, {
        onItems: (items) => newest.current.onItems(items),
        onBegin: () => newest.current.onBegin?.(),
        onResync: () => newest.current.onResync?.(),
      }),
    [connection, key],
  );
}
