import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach } from 'vitest';
import type { Gateway, GatewayOptions } from '../../../harness/gateway.ts';
import type { CallInit } from '../../../harness/http.ts';
import { type Owner, wholeFile } from '../../../harness/owner.ts';

/** An upstream that counts its requests; `respond` may be replaced at any time. */
export interface Origin {
  readonly port: number;
  /** Targets of the requests since the last call. */
  heard(): string[];
  respond: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Starts an upstream. By default it numbers its responses, which are fresh for an hour. */
export async function startOrigin(t: Owner): Promise<Origin> {
  const heard: string[] = [];
  let count = 0;
  const origin = {
    port: 0,
    heard: () => heard.splice(0),
    respond: (_request: IncomingMessage, response: ServerResponse) => {
      response.setHeader('Cache-Control', 'max-age=3600').end(`number ${++count}`);
    },
  };
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    origin.respond(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  origin.port = (server.address() as AddressInfo).port;
  return origin;
}

/** The content of `http`: one cache, and a location that shows its status. */
export function cached(origin: { readonly port: number }, location = '', path = ''): string {
  return `proxy_cache_path cache keys_zone=one:1m levels=1:2 ${path};
    server { location / {
      proxy_cache one; add_header X-Cache $upstream_cache_status always; ${location}
      proxy_pass http://127.0.0.1:${origin.port};
    } }`;
}

/** A gateway whose clock a test can move. */
export interface Clock {
  readonly options: GatewayOptions;
  /** Sets how many seconds the gateway is ahead. */
  move(seconds: number): void;
}

/** Returns the options for a gateway with a separate clock. */
export function movableClock(t: Owner): Clock {
  const dir = mkdtempSync(join(tmpdir(), 'gw-clock-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  const file = join(dir, 'ahead');
  const program = fileURLToPath(new URL('../../../harness/moved-clock.mjs', import.meta.url));
  return {
    options: { nodeFlags: ['--import', program], env: { GW_TEST_CLOCK: file } },
    move: (seconds) => writeFileSync(file, String(seconds * 1000)),
  };
}

/** A clock for all tests of a file, so that they can have the same gateway: it never goes back. */
export interface FileClock {
  readonly options: GatewayOptions;
  /** Sets the time of the gateway to so many seconds after the test has begun. */
  passed(seconds: number): void;
}

/** Call it at the top level of the file. */
export function clockOfFile(): FileClock {
  const { options, move } = movableClock(wholeFile());
  let testsBegun = 0;
  const passed = (seconds: number): void => move(testsBegun * 1_000 + seconds);
  beforeEach(() => {
    testsBegun += 1;
    passed(0);
  });
  return { options, passed };
}

/** Returns `STATUS body` of a response. */
export async function cacheStatus(gw: Gateway, path = '/a', init?: CallInit): Promise<string> {
  const response = await gw.fetch(path, init);
  return `${response.headers.get('x-cache')} ${response.body}`;
}
