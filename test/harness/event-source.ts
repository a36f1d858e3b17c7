import { get, type IncomingMessage } from 'node:http';
import type { Owner } from './owner.ts';

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  /** The id that a client would send as `Last-Event-ID` now. */
  readonly id: string;
  readonly data: string;
}

/** A client that follows a stream of server-sent events, until the test ends. */
export class EventSource {
  readonly response: IncomingMessage;
  readonly events: ServerEvent[] = [];
  /** The body of a response that is not a stream. */
  body = '';
  hasEnded = false;
  /** Called with each event that comes from now on. */
  heard: (event: ServerEvent) => void = () => undefined;
  #rest = '';
  #id = '';
  #changed: () => void = () => undefined;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    const end = (): void => {
      this.hasEnded = true;
      this.#changed();
    };
    response.on('end', end);
    response.on('error', end);
    response.on('close', end);
  }

  /** Resolves with the events once there are `count` of them. Rejects if the stream ends before. */
  async until(count: number): Promise<readonly ServerEvent[]> {
    await this.#when(() => this.events.length >= count);
    return this.events;
  }

  /** Resolves when the stream has ended. */
  async ended(): Promise<void> {
    await this.#when(() => this.hasEnded);
  }

  get lastId(): string {
    return this.#id;
  }

  close(): void {
    this.response.destroy();
  }

  async #when(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (this.hasEnded) throw new Error(`the stream ended after ${this.events.length} events: ${this.body}`);
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  #take(text: string): void {
    this.body += text;
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) this.#read(block);
    this.#changed();
  }

  #read(block: string): void {
    let event = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, name, value = ''] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
      if (name === 'event') event = value;
      if (name === 'data') data.push(value);
      if (name === 'id') this.#id = value;
    }
    if (data.length === 0) return;
    const told = { event, id: this.#id, data: data.join('\n') };
    this.events.push(told);
    this.heard(told);
  }
}

/** Opens a stream. Resolves when the head of the response has come, whatever its status. */
export function openEvents(
  t: Owner,
  url: string,
  headers: Record<string, string> = {},
): Promise<EventSource> {
  return new Promise((resolve, reject) => {
    const accept = 'text/event-stream';
    const request = get(url, { agent: false, headers: { accept, ...headers } }, (response) => {
      resolve(new EventSource(response));
    });
    request.on('error', reject);
    t.onTestFinished(() => {
      request.destroy();
      return Promise.resolve();
    });
  });
}
