import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Build, WorkerScope } from '../../../contract/index.ts';
import {
  type Exchange,
  type Handler,
  isOwnName,
  isRead,
  type KnowsHost,
  SITE_HEADERS,
  writeRefusal,
} from '../../../http/index.ts';
import { DictionaryFault } from '../../../zone/index.ts';
import { ControlFault, type Surface } from '../endpoint.ts';
import { prefixOf } from '../resources.ts';
import { WRITE_HEADER } from './contract.ts';
import { compileData } from './data.ts';
import type { ConsoleResources } from './history.ts';

/** The page of the console and its headers. */
interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230f766e'/%3E%3Cpath d='M8 12h9m-9 8h6m3 0l7-8m0 0h-5m5 0v5' fill='none' stroke='%23fff' stroke-width='2.6' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

/** Puts the built script and styles into one document. Throws if the build left them out. */
function readPage(): Page {
  const built = builtFiles();
  const script = readFileSync(join(built, 'page.js'), 'utf8').trim();
  const style = readFileSync(join(built, 'page.css'), 'utf8').trim();
  return { html: html(script, style), headers: headers(script, style) };
}

/** Bundles are at different depths of `dist`. */
function builtFiles(): string {
  for (
    let directory = import.meta.dirname;
    directory !== dirname(directory);
    directory = dirname(directory)
  ) {
    const found = join(directory, 'dist/console');
    if (existsSync(found)) return found;
  }
  throw new Error('the page of the console was not built');
}

function html(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gw console</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<noscript>The console of gw needs JavaScript.</noscript>
<script>${script}</script>
</body>
</html>
`;
}

/**
 * Returns the headers of the page: nothing external is loaded, only this script and these styles are allowed, and the
 * page cannot be framed.
 */
function headers(script: string, style: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Decides which requests the console serves. Unknown host names are refused, since pages of such a name would be
 * same-origin (DNS rebinding); data is served to pages of this origin only, and writes need a header that only
 * such pages can send.
 */
class ConsoleGuard {
  readonly #knowsHost: KnowsHost;

  constructor(build: Build, worker: WorkerScope) {
    this.#knowsHost = (host) => worker.view.knowsHost(host);
    for (const name of [...SITE_HEADERS, 'content-type', WRITE_HEADER]) build.needHeader(name);
  }

  /** Checks a request for the page. Throws a `ControlFault` (421). */
  page(x: Exchange): void {
    if (!isOwnName(x.request.host, this.#knowsHost))
      throw new ControlFault(421, `"${x.request.host}" is no name of this server`);
  }

  /** Checks a request for data. Throws a `ControlFault` (403, 415, 421). */
  data(x: Exchange): void {
    this.page(x);
    const refusal = writeRefusal(x, this.#knowsHost);
    if (refusal !== undefined) throw new ControlFault(403, refusal);
    if (!READS.has(x.method)) checkWrite(x);
  }
}

function checkWrite(x: Exchange): void {
  if (x.header(WRITE_HEADER) === undefined)
    throw new ControlFault(403, `header "${WRITE_HEADER}" is missing`);
  if (!/^application\/json\s*(;|$)/i.test(x.header('content-type') ?? '')) {
    throw new ControlFault(415, 'content-type must be application/json');
  }
}

/** Compiles `control_console`: the page at the location's path, its data below. */
export function compileConsole(surface: Surface, resources: ConsoleResources): Handler {
  const { build } = surface;
  const { location } = build;
  if (location.kind !== 'prefix') {
    throw new Error(`"control_console" needs a location with a prefix in ${location.place}`);
  }
  const prefix = prefixOf(location);
  const guard = new ConsoleGuard(build, surface.resources.worker);
  const servePage = compilePage(guard);
  const serveData = compileData(surface, resources);
  const serve: Handler = (x) => {
    if (x.uri === prefix) return servePage(x);
    if (`${x.uri}/` === prefix) return x.redirect(301, prefix);
    guard.data(x);
    x.response.setHeader('Cache-Control', 'no-store');
    x.response.setHeader('X-Content-Type-Options', 'nosniff');
    return serveData(x.uri.slice(prefix.length), x);
  };
  return (x) => {
    try {
      return serve(x)?.catch((error: unknown) => respondWithFault(x, error));
    } catch (error) {
      return respondWithFault(x, error);
    }
  };
}

function compilePage(guard: ConsoleGuard): (x: Exchange) => void {
  const { html, headers } = readPage();
  return (x) => {
    guard.page(x);
    if (!isRead(x)) {
      x.response.setHeader('Allow', 'GET, HEAD');
      throw new ControlFault(405, 'method not allowed');
    }
    for (const [name, value] of Object.entries(headers)) x.response.setHeader(name, value);
    x.send(200, 'text/html; charset=utf-8', html);
  };
}

function respondWithFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendRefusal(x, error.status, error.message);
  if (error instanceof DictionaryFault) return sendRefusal(x, 503, `shared dict refused: ${error.message}`);
  throw error;
}

function sendRefusal(x: Exchange, status: number, error: string): void {
  x.send(status, 'application/json', JSON.stringify({ error }));
}
