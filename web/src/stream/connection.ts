import { later } from "./position";
import { type Item, type Listener, type Subscription, type Topic, request, wants } from "./subscriptions";

/** `lost`: it was open, and reconnecting is in progress. */
export type ConnectionState = "connecting" | "open" | "lost";

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 8_000;
/** After this long without a message: send a ping, and reconnect if there is no reply. */
const QUIET_MS = 25_000;
const ANSWER_MS = 5_000;
/** The key or session is no longer valid. */
const NOT_ALLOWED = 1008;

/**
 * The tab's only connection to the stream. Subscriptions outlive it: after a reconnect, each resumes after its last
 * change.
 */
export class Connection {
  state: ConnectionState = "connecting";
  #socket: WebSocket | null = null;
  #subscriptions = new Map<string, Subscription>();
  #watchers = new Set<() => void>();
  #waiting: Item[] = [];
  /** Cancels the scheduled flush. */
  #recall: (() => void) | null = null;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #names = 0;
  readonly #address: string;
  /** The position at which subscriptions start that are made before the first connection; what they load is not older. */
  readonly #first: string;
  #wasOpen = false;
  readonly #onRefused: () => void;

  /** `onRefused` is called when the server may no longer accept this browser. */
  constructor(address: string, first: string, onRefused: () => void) {
    this.#address = address;
    this.#first = first;
    this.#onRefused = onRefused;
  }

  /** Connect, and reconnect when the machine or the tab wakes up. */
  start(): void {
    addEventListener("online", this.#hurry);
    addEventListener("offline", this.#drop);
    document.addEventListener("visibilitychange", this.#hurry);
    this.#connect();
  }

  stop(): void {
    removeEventListener("online", this.#hurry);
    removeEventListener("offline", this.#drop);
    document.removeEventListener("visibilitychange", this.#hurry);
    clearTimeout(this.#retry);
    clearTimeout(this.#quiet);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** Subscribe to a topic. Return a function that unsubscribes. */
  subscribe(topic: Topic, listener: Listener): () => void {
    const name = `s${++this.#names}`;
    const subscription: Subscription = { ...topic, name, listener, since: this.#wasOpen ? null : this.#first, isLive: false };
    this.#subscriptions.set(name, subscription);
    this.#send(request(subscription));
    return () => {
      this.#subscriptions.delete(name);
      this.#send(JSON.stringify({ op: "unsubscribe", id: name }));
    };
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #hurry = (): void => {
    if (document.visibilityState === "hidden" || this.#socket !== null) return;
    this.#connect();
  };

  #drop = (): void => this.#abandon();

  #connect(): void {
    clearTimeout(this.#retry);
    const socket = new WebSocket(this.#address);
    this.#socket = socket;
    let isOpened = false;
    socket.onopen = () => {
      isOpened = this.#wasOpen = true;
      this.#failures = 0;
      this.#become("open");
      for (const subscription of this.#subscriptions.values()) {
        subscription.isLive = false;
        this.#send(request(subscription));
      }
      this.#listen();
    };
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket) return;
      this.#listen();
      this.#receive(JSON.parse(data as string));
    };
    socket.onclose = ({ code }) => {
      if (this.#socket !== socket) return;
      this.#lost();
      // A page cannot tell a rejected handshake from a failed one.
      if (code === NOT_ALLOWED || !isOpened) this.#onRefused();
    };
  }

  #lost(): void {
    this.#socket = null;
    clearTimeout(this.#quiet);
    this.#become("lost");
    const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures++);
    this.#retry = setTimeout(() => this.#connect(), longest * (0.5 + Math.random() / 2));
  }

  #become(state: ConnectionState): void {
    if (this.state === state) return;
    this.state = state;
    for (const watcher of this.#watchers) watcher();
  }

  /** A connection may die silently: send a ping after a quiet period. */
  #listen(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.#send(JSON.stringify({ op: "ping" }));
      this.#quiet = setTimeout(() => this.#abandon(), ANSWER_MS);
    }, QUIET_MS);
  }

  /** Do not wait for the closing handshake of an unresponsive peer. */
  #abandon(): void {
    const socket = this.#socket;
    if (socket === null) return;
    socket.onclose = socket.onmessage = socket.onopen = null;
    socket.close();
    this.#lost();
  }

  #send(line: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(line);
  }

  #receive(line: Item & { subscription?: string }): void {
    switch (line.type) {
      case "subscribed":
      case "live": {
        const subscription = this.#subscriptions.get(line.subscription ?? "");
        if (subscription === undefined) return;
        if (subscription.since === null) {
          subscription.since = line.id;
          subscription.listener.onBegin?.();
        }
        if (line.type === "live") {
          subscription.isLive = true;
          subscription.since = later(subscription.since, line.id);
        }
        return;
      }
      case "resync":
        this.#flush();
        for (const subscription of this.#subscriptions.values()) {
          subscription.since = line.id;
          subscription.listener.onResync?.();
        }
        return;
      case "unsubscribed":
      case "error":
      case "pong":
        return;
      default:
        this.#queue(line);
    }
  }

  /** Deliver changes once per frame, however many arrive. */
  #queue(item: Item): void {
    this.#waiting.push(item);
    this.#recall ??= soon(() => this.#flush());
  }

  #flush(): void {
    this.#recall?.();
    this.#recall = null;
    const items = this.#waiting;
    this.#waiting = [];
    if (items.length === 0) return;
    const last = items.map(({ id }) => id).reduce(later);
    for (const subscription of Array.from(this.#subscriptions.values())) {
      const wanted = items.filter((item) => wants(subscription, item));
      // Until it is live, changes for others may be ahead of the backlog.
      if (subscription.isLive && subscription.since !== null) subscription.since = later(subscription.since, last);
      if (wanted.length > 0) subscription.listener.onItems(wanted);
    }
  }
}

/**
 * Call it in the next frame, or with a timer in a hidden tab, which has no frames. Return the matching cancel function:
 * frame and timer ids are separate.
 */
function soon(call: () => void): () => void {
  if (document.hidden) {
    const timer = setTimeout(call, 100);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(call);
  return () => cancelAnimationFrame(frame);
}
