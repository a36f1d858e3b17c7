import type { IncomingMessage } from 'node:http';
import { reachEvents } from '../src/lookups.ts';
import { loadPlan, openCall, parseAddress, silence, targetAt, targetOf } from './control-client.ts';
import type { ControlOptions, ControlTarget } from './control-client.ts';

/** The events endpoint of a running gateway. */
export interface EventsTarget {
  readonly target: ControlTarget;
  /** As the configuration says; absent where it needs none, or was not read. */
  readonly publishKey?: string;
}

/** An entry of the ring as the endpoint shows it. */
export interface ShownEvent {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
}

/** The first events endpoint of the configuration, or the one at `address`; or why there is none. */
export function findEvents({ address, ...options }: ControlOptions): EventsTarget | string {
  if (address !== undefined) {
    const base = parseAddress(address);
    if (base && base.pathname !== '/') return { target: targetOf(base, base.pathname) };
    return `gw: invalid address "${address}"\n  expected the events endpoint, such as http://host:port/events`;
  }
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return loaded;
  const reach = reachEvents(loaded.plan);
  if (!reach) return `gw: no location of ${loaded.name} serves events\n  name one with --address`;
  const { publishKey } = reach;
  return { target: targetAt(reach), ...(publishKey !== undefined && { publishKey }) };
}

/** One message of a stream of server-sent events. */
interface Message {
  event: string;
  data: string;
}

/**
 * Follows the events until the gateway ends the stream, as it does when its configuration changes. Rejects when nobody
 * answers, or not with a stream.
 */
export function followEvents(
  target: ControlTarget,
  query: Readonly<Record<string, string | undefined>>,
  show: (message: Message) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream' };
    const sent = openCall(target, { query, headers }, (response) => {
      const isStream = response.headers['content-type']?.startsWith('text/event-stream');
      if (isStream) readStream(response, show, resolve);
      else void refusal(target, response).then(reject);
    });
    sent.on('error', (error: NodeJS.ErrnoException) => reject(silence(target, error)));
  });
}

function readStream(response: IncomingMessage, show: (message: Message) => void, end: () => void): void {
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    const messages = (rest + text).split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) showMessage(message, show);
  });
  response.on('end', end);
  // A gateway that dies leaves the stream unfinished.
  response.on('error', end);
}

function showMessage(text: string, show: (message: Message) => void): void {
  const message: Message = { event: '', data: '' };
  for (const line of text.split('\n')) {
    const [, field, value = ''] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') message.event = value;
    if (field === 'data') message.data = value;
  }
  if (message.data !== '') show(message);
}

async function refusal({ url }: ControlTarget, response: IncomingMessage): Promise<Error> {
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += text as string;
  return new Error(`${url} answers ${response.statusCode}${reasonIn(body)}`);
}

/** What an answer of the endpoint says is wrong, behind a colon. */
export function reasonIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: string };
    return error === undefined ? '' : `: ${error}`;
  } catch {
    return '';
  }
}
