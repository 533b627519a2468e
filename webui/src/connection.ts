import { protocol, subprotocol } from "./protocol";
import type { Config, Frame, Problem, Seen, Subscription } from "./protocol";

/** How the page stands to the agent. Times are Unix milliseconds. */
export type Link =
  | { how: "connecting" }
  | { how: "live"; since: number }
  | { how: "lost"; since: number; attempt: number; retryAt: number }
  | { how: "outdated"; theirs: number };

export interface Listener {
  link(link: Link): void;
  config(config: Config): void;
  frame(frame: Frame): void;
  problem(problem: Problem): void;
}

const firstPause = 250;
const longestPause = 5_000;
/** The agent sends a frame each second, if only to say that nothing changed. */
const silence = 10_000;
/** On a slow network the first frame alone may take longer: then each try waits longer than the one before. */
const longestSilence = 80_000;

/** Connection keeps one websocket open, again and again, until the page goes away. */
export class Connection {
  private socket: WebSocket | null = null;
  private wanted: Subscription | null = null;
  private lostAt = 0;
  private attempt = 0;
  private outdated = false;
  private patience = silence;
  private frames = 0; // of this connection
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly url: string,
    private readonly to: Listener,
  ) {
    to.link({ how: "connecting" });
    this.open();
    addEventListener("online", () => this.openNow());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.openNow();
    });
  }

  /** subscribe says what the agent is to send from now on, after a reconnect as well. */
  subscribe(wanted: Omit<Subscription, "type" | "deltas">): void {
    this.wanted = { ...wanted, type: "subscribe", deltas: true };
    this.tell();
  }

  private tell(): void {
    if (this.wanted && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(this.wanted));
    }
  }

  private openNow(): void {
    if (this.retry === undefined) return;
    clearTimeout(this.retry);
    this.retry = undefined;
    this.open();
  }

  private open(): void {
    const socket = new WebSocket(this.url, subprotocol);
    this.socket = socket;
    this.watch(socket);
    socket.onmessage = (event: MessageEvent<string>) => {
      if (this.socket !== socket) return;
      this.watch(socket);
      this.take(JSON.parse(event.data) as Config | Frame | Problem);
    };
    socket.onclose = () => this.closed(socket);
  }

  private take(message: Config | Frame | Problem): void {
    switch (message.type) {
      case "config": {
        const config = message as Config;
        if (config.protocol !== protocol) {
          this.outdated = true;
          this.to.link({ how: "outdated", theirs: config.protocol });
          this.socket?.close();
          return;
        }
        this.attempt = 0;
        this.lostAt = 0;
        this.frames = 0;
        this.to.config(config);
        this.to.link({ how: "live", since: Date.now() });
        this.tell();
        break;
      }
      case "frame":
        if (++this.frames > 3) this.patience = silence; // they come
        this.to.frame(message as Frame);
        this.socket?.send(JSON.stringify({ type: "seen", seq: (message as Frame).seq } satisfies Seen));
        break;
      case "error":
        this.to.problem(message as Problem);
        break;
    }
  }

  /** watch gives a socket up that has been silent for too long: a sleeping laptop, a stopped agent. */
  private watch(socket: WebSocket): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      if (this.socket !== socket) return;
      this.patience = Math.min(longestSilence, 2 * this.patience);
      socket.close();
      this.closed(socket);
    }, this.patience);
  }

  private closed(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = null;
    clearTimeout(this.watchdog);
    if (this.outdated) return;
    this.lostAt ||= Date.now();
    this.attempt++;
    const pause = Math.min(longestPause, firstPause * 2 ** (this.attempt - 1)) * (0.75 + Math.random() / 2);
    this.to.link({ how: "lost", since: this.lostAt, attempt: this.attempt, retryAt: Date.now() + pause });
    this.retry = setTimeout(() => {
      this.retry = undefined;
      this.open();
    }, pause);
  }
}
