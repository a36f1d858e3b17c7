import { setTimeout as delay } from 'node:timers/promises';
import { callControl, findControl } from '../control-client.ts';
import type { ControlOptions, ControlTarget } from '../control-client.ts';
import { readStatus } from '../status.ts';
import type { Earlier, Status } from '../status.ts';
import { statusText } from '../status-text.ts';

/** Options of `gw status`. */
export interface StatusOptions extends ControlOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

const WATCH_EVERY_MS = 2_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** Shows what the running gateway does, once or again and again until a signal ends it. 1: nobody answers. */
export async function status({ json, watch, ...options }: StatusOptions): Promise<number> {
  const target = findControl('metrics', options);
  if (typeof target === 'string') return fail(target);
  let earlier: Earlier | undefined;
  for (;;) {
    const atMs = Date.now();
    const found = await ask(target, atMs, earlier);
    if (typeof found === 'string') return fail(found);
    if (watch && process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
    process.stdout.write(json ? `${JSON.stringify(found)}\n` : statusText(found));
    if (!watch) return 0;
    earlier = { atMs, requests: found.requests.total };
    await delay(WATCH_EVERY_MS);
  }
}

async function ask(
  target: ControlTarget,
  atMs: number,
  earlier: Earlier | undefined,
): Promise<Status | string> {
  try {
    const answer = await callControl(target);
    if (answer.status !== 200) return `gw: ${target.url} answers ${answer.status}`;
    return readStatus(answer.body, atMs, earlier);
  } catch (error) {
    return `gw: ${(error as Error).message}`;
  }
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}
