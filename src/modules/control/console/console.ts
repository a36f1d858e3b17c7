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
  const {
    build,
    resources: { worker },
  } = surface;
  const { location } = build;
  if (location.kind !== 'prefix' && location.kind !== 'regex') {
    throw new Error(`"control_console" needs a location with a prefix in ${location.place}`);
  }
  const page = readPage();
  const guard = new ConsoleGuard(build);
  const data = compileData(surface, resources);
  const prefix = location.kind === 'prefix' ? prefixOf(location) : undefined;

  const servePage = (x: Exchange): void => {
    guard.page(x, worker.view);
    if (x.method !== 'GET' && x.method !== 'HEAD') return refuseMethod(x, 'GET, HEAD');
    if (prefix !== undefined && `${x.uri}/` === prefix) return x.redirect(301, prefix);
    for (const [name, value] of Object.entries(page.headers)) x.setHeader(name, value);
    x.send(200, 'text/html; charset=utf-8', page.html);
  };
  const serve: Handler = (x) => {
    const name = /\/data\/([a-z]+)$/.exec(x.uri)?.[1];
    if (name === undefined) return servePage(x);
    guard.data(x, worker.view);
    x.setHeader('Cache-Control', 'no-store');
    x.setHeader('X-Content-Type-Options', 'nosniff');
    return data(name, x);
  };
  return (x) => {
    try {
      return serve(x)?.catch((error: unknown) => answerFault(x, error));
    } catch (error) {
      return answerFault(x, error);
    }
  };
}

function refuseMethod(x: Exchange, allowed: string): void {
  x.setHeader('Allow', allowed);
  sendRefusal(x, 405, 'method not allowed');
}

function answerFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendRefusal(x, error.status, error.message);
  if (error instanceof DictionaryFault) return sendRefusal(x, 503, `shared dict refused: ${error.message}`);
  throw error;
}

function sendRefusal(x: Exchange, status: number, error: string): void {
  x.send(status, 'application/json', JSON.stringify({ error }));
}
