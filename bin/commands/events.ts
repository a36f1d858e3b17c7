import { setTimeout as delay } from 'node:timers/promises';
import { callControl } from '../control-client.ts';
import type { ControlOptions, ControlTarget } from '../control-client.ts';
import { findEvents, followEvents, reasonIn } from '../events-client.ts';
import type { ShownEvent } from '../events-client.ts';
import { visible } from '../terminal-text.ts';

/** Options of `gw events tail`. */
export interface TailOptions extends ControlOptions {
  readonly channel?: string;
  readonly type?: string;
  readonly since?: string;
  readonly json?: boolean;
}

/** Options of `gw events publish`. */
export interface PublishOptions extends ControlOptions {
  readonly key?: string;
  readonly json?: boolean;
}

/** A configuration that leaves ends its streams; the next one is already there. */
const RECONNECT_MS = 100;

/** `gw events tail`: shows events as they come, across reloads, until a signal ends it. 1: nobody answers any more. */
export async function tail({ channel, type, since, json, ...options }: TailOptions): Promise<number> {
  const found = findEvents(options);
  if (typeof found === 'string') return fail(found);
  // Whoever reads our output (`| head`) has seen enough.
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

/** Where to go on when the stream is cut before the first event. */
async function newestGeneration(target: ControlTarget): Promise<string> {
  const { status, body } = await callControl(target, { query: { limit: '0' } });
  if (status !== 200) throw new Error(`${target.url} answers ${status}${reasonIn(body)}`);
  return String((JSON.parse(body) as { newest_generation: number }).newest_generation);
}

function tellDropped(data: string): void {
  const { dropped } = JSON.parse(data) as { dropped: number };
  process.stderr.write(`gw: ${dropped} events were overwritten before they could be read\n`);
}

function lineOf({ generation, channel, type, payload, timestamp }: ShownEvent): string {
  const words = [new Date(timestamp).toISOString(), generation, visible(channel), visible(type)];
  return `${[...words, ...(payload === null ? [] : [visible(payload)])].join(' ')}\n`;
}

/** `gw events publish TYPE [PAYLOAD]`. 0: published, 1: not. */
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
    if (status !== 200) return fail(`gw: ${found.target.url} answers ${status}${visible(reasonIn(body))}`);
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

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}
