import type { Handler, Exchange } from '../../../http/index.ts';
import { DictionaryFault } from '../../../zone/index.ts';
import { ControlFault } from '../fault.ts';
import type { Surface } from '../endpoint.ts';
import { prefixOf } from '../routes.ts';
import { compileData } from './data.ts';
import { ConsoleGuard } from './guard.ts';
import { readPage } from './page.ts';
import type { ConsoleResources } from './resources.ts';

/** `control_console`: the page at the location's path, its data below. */
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
    x.setHeader('Cache-Control', 'no-store');
    x.setHeader('X-Content-Type-Options', 'nosniff');
    return serveData(x.uri.slice(prefix.length), x);
  };
  return (x) => {
    try {
      return serve(x)?.catch((error: unknown) => answerFault(x, error));
    } catch (error) {
      return answerFault(x, error);
    }
  };
}

function compilePage(guard: ConsoleGuard): (x: Exchange) => void {
  const { html, headers } = readPage();
  return (x) => {
    guard.page(x);
    if (x.method !== 'GET' && x.method !== 'HEAD') {
      x.setHeader('Allow', 'GET, HEAD');
      throw new ControlFault(405, 'method not allowed');
    }
    for (const [name, value] of Object.entries(headers)) x.setHeader(name, value);
    x.send(200, 'text/html; charset=utf-8', html);
  };
}

function answerFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendRefusal(x, error.status, error.message);
  if (error instanceof DictionaryFault) return sendRefusal(x, 503, `shared dict refused: ${error.message}`);
  throw error;
}

function sendRefusal(x: Exchange, status: number, error: string): void {
  x.send(status, 'application/json', JSON.stringify({ error }));
}
