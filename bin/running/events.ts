import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { reachEvents } from '../../src/tools/lookups.ts';
import { visible } from '../terminal.ts';
import {
  callControl,
  type ControlOptions,
  type ControlTarget,
  fail,
  loadPlan,
  openCall,
  parseAddress,
  noResponse,
  targetAt,
  targetOf,
} from './control-client.ts';

/** The events endpoint of a running gateway. */
interface EventsTarget {
  readonly target: ControlTarget;
  /** The key in the configuration; absent if none is needed or the configuration was not read. */
  readonly publishKey?: string;
}

/** An event in a response of the endpoint. */
interface ShownEvent {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
}

/** A response of the endpoint. */
interface EventPage {
  readonly newest_generation: number;
  readonly events: readonly ShownEvent[];
}

/** Returns the endpoint at `address`, or the first of the configuration. A text gives the reason if none is found. */
function findEvents({ address, ...options }: ControlOptions): EventsTarget | string {
  if (address !== undefined) {
    const base = parseAddress(address);
    if (base && base.pathname !== '/') return { target: targetOf(base, base.pathname) };
    return `gw: invalid address "${address}"\n  expected the events endpoint, such as http://host:port/events`;
  }
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return loaded;
  const reach = reachEvents(loaded.plan);
  if (!reach)
    return loaded.refusal ?? `gw: no location of ${loaded.name} serves events\n  name one with --address`;
  const { publishKey } = reach;
  return { target: targetAt(reach), ...(publishKey !== undefined && { publishKey }) };
}

/** One message of a stream of server-sent events. */
interface Message {
  event: string;
  data: string;
}

/**
 * Follows the events until the gateway ends the stream, as it does when its configuration changes. Rejects if there is
 * no response or it is not a stream.
 */
function followEvents(
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
    sent.on('error', (error: NodeJS.ErrnoException) => reject(noResponse(target, error)));
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
  return new Error(`${url} responds with ${response.statusCode}${reasonIn(body)}`);
}

/** Returns the reason in a response of the endpoint, after a colon. */
function reasonIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: string };
    return error === undefined ? '' : `: ${error}`;
  } catch {
    return '';
  }
}

/** Options of `gw events list` and `gw events tail`. */
export interface TailOptions extends ControlOptions {
  readonly channel?: string;
  readonly type?: string;
  readonly since?: string;
  readonly json?: boolean;
}

/** Events that `gw events list` shows without "--since". */
const RECENT = 20;

/** Options of `gw events publish`. */
export interface PublishOptions extends ControlOptions {
  readonly key?: string;
  readonly json?: boolean;
}

/** Delay before reconnecting: a replaced configuration ends its streams when the next one serves already. */
const RECONNECT_MS = 100;

/**
 * `gw events tail`: prints events as they are published, across reloads, until a signal ends it. Exit code 1: the
 * gateway does not respond any more.
 */
export async function tail({ channel, type, since, json, ...options }: TailOptions): Promise<number> {
  const found = findEvents(options);
  if (typeof found === 'string') return fail(found);
  // The reader of the output (`| head`) has ended.
  process.stdout.once('error', () => process.exit());
  try {
    let last = since ?? (await newestGeneration(found.target));
    for (;;) {
      await followEvents(found.target, { channel, type, since: last }, ({ event, data }) => {
        if (event === 'dropped') return tellDropped(data);
        const shown = JSON.parse(data) as ShownEvent;
        last = String(shown.generation);
        process.stdout.write(json ? `${data}\n` : lineOf(shown));
      });
      await delay(RECONNECT_MS);
    }
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

/** `gw events list`: prints the newest events that the gateway still has. Exit code 1: there is no response with events. */
export async function listEvents({ channel, type, since, json, ...options }: TailOptions): Promise<number> {
  const found = findEvents(options);
  if (typeof found === 'string') return fail(found);
  try {
    const from = since ?? String(Math.max(0, Number(await newestGeneration(found.target)) - RECENT));
    const { events } = await pageOf(found.target, { channel, type, since: from });
    if (events.length === 0 && !json) process.stdout.write('no events\n');
    for (const event of events) process.stdout.write(json ? `${JSON.stringify(event)}\n` : lineOf(event));
    return 0;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

async function pageOf(
  target: ControlTarget,
  query: Readonly<Record<string, string | undefined>>,
): Promise<EventPage> {
  const { status, body } = await callControl(target, { query });
  if (status !== 200) throw new Error(`${target.url} responds with ${status}${reasonIn(body)}`);
  return JSON.parse(body) as EventPage;
}

/** Returns the generation to continue from if the stream breaks before the first event. */
async function newestGeneration(target: ControlTarget): Promise<string> {
  return String((await pageOf(target, { limit: '0' })).newest_generation);
}

function tellDropped(data: string): void {
  const { dropped } = JSON.parse(data) as { dropped: number };
  process.stderr.write(`gw: ${dropped} events were overwritten before they could be read\n`);
}

function lineOf({ generation, channel, type, payload, timestamp }: ShownEvent): string {
  const words = [new Date(timestamp).toISOString(), generation, visible(channel), visible(type)];
  return `${[...words, ...(payload === null ? [] : [visible(payload)])].join(' ')}\n`;
}

/** `gw events publish TYPE [PAYLOAD]`: publishes an event. Exit code 1: it was not published. */
export async function publish(
  type: string,
  payload: string | undefined,
  { key, json, ...options }: PublishOptions,
): Promise<number> {
  const found = findEvents(options);
  if (typeof found === 'string') return fail(found);
  const secret = key ?? found.publishKey;
  try {
    const { status, body } = await callControl(found.target, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(secret !== undefined && { 'x-publish-key': secret }),
      },
      body: JSON.stringify({ type, payload }),
    });
    if (status !== 200)
      return fail(`gw: ${found.target.url} responds with ${status}${visible(reasonIn(body))}`);
    process.stdout.write(json ? `${body}\n` : publishedLine(body));
    return 0;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

function publishedLine(body: string): string {
  const { generation, channel } = JSON.parse(body) as { generation: number; channel: string };
  return `published as generation ${generation} on channel ${visible(channel)}\n`;
}
