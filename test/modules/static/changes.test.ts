import {
  appendFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';

/** A file that has not changed for this long is kept in memory by the next request. */
const SETTLED_MS = 120;
const CLIENTS = 16;
/** The time of the file before every change, in whole seconds, which file systems keep exactly. */
const OLD = new Date('2020-01-01T00:00:00Z');

/** Every change returns the new content; all versions have the same length. */
const CHANGES: readonly { readonly it: string; readonly act: (path: string, version: string) => string }[] = [
  {
    it: 'is overwritten',
    act(path, version) {
      writeFileSync(path, version);
      return version;
    },
  },
  {
    it: 'is overwritten and gets its old time back',
    act(path, version) {
      writeFileSync(path, version);
      utimesSync(path, OLD, OLD);
      return version;
    },
  },
  {
    it: 'is replaced by a file of the same size and time',
    act(path, version) {
      writeFileSync(`${path}.new`, version);
      utimesSync(`${path}.new`, OLD, OLD);
      renameSync(`${path}.new`, path);
      return version;
    },
  },
  {
    it: 'is removed and written again',
    act(path, version) {
      rmSync(path);
      writeFileSync(path, version);
      return version;
    },
  },
  {
    it: 'grows',
    act(path, version) {
      writeFileSync(path, version);
      appendFileSync(path, '!');
      return `${version}!`;
    },
  },
  {
    it: 'shrinks',
    act(path, version) {
      writeFileSync(path, version);
      truncateSync(path, 7);
      return version.slice(0, 7);
    },
  },
];

/** Clients that request the file without a pause, over kept connections. */
class Load {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENTS + 1 });
  readonly #gw: Gateway;
  readonly #clients: Promise<void>[];
  /** The content for requests that begin now; `undefined` while the file changes. */
  current: string | undefined;
  responses = 0;
  readonly stale: string[] = [];
  #ended = false;

  constructor(gw: Gateway, current: string) {
    this.#gw = gw;
    this.current = current;
    this.#clients = Array.from({ length: CLIENTS }, async () => {
      while (!this.#ended) await this.check();
    });
  }

  /** Sends one request and checks its response if the file has not changed meanwhile. */
  async check(): Promise<void> {
    const { current } = this;
    const body = await this.#get();
    this.responses++;
    if (current !== undefined && current === this.current && body !== current)
      this.stale.push(`${body.slice(0, 12)} instead of ${current.slice(0, 12)}`);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#clients);
    this.#agent.destroy();
  }

  #get(): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request({ port: this.#gw.port, path: '/file', agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve(text)).on('error', reject);
      });
      sent.on('error', reject).end();
    });
  }
}

test('a file that changes under load never shows an old state after a change', async (t) => {
  const gw = await startGateway(t, 'server { root site; keepalive_requests 1000000; }', {
    files: { 'site/file': '' },
    workers: 2,
  });
  const path = join(gw.dir, 'site/file');
  const first = '0000000'.padEnd(4_096);
  writeFileSync(path, first);
  const load = new Load(gw, first);
  let number = 0;
  for (const { act } of [...CHANGES, ...CHANGES]) {
    utimesSync(path, OLD, OLD);
    const seen = load.responses;
    while (Date.now() - statSync(path).ctimeMs < SETTLED_MS || load.responses < seen + 100)
      await load.check();
    load.current = undefined;
    load.current = act(path, String(++number).padStart(7, '0').padEnd(4_096));
    await load.check();
  }
  await load.end();
  expect(load.stale).toEqual([]);
});
