import type { Exchange } from '../../../http/index.ts';
import type { Surface } from '../endpoint.ts';
import { ControlFault } from '../fault.ts';
import { readQuery, required } from '../query.ts';
import type { Query } from '../query.ts';
import { DATA_PATHS } from './contract.ts';
import type { ConsoleResources } from './resources.ts';
import { Feeds } from './feed.ts';
import type { FeedQuestion } from './feed.ts';
import { FlagTable } from './flag-page.ts';
import { compileOverview } from './overview.ts';
import { explainUrl, routeTree } from './routes.ts';

const MAX_BODY_BYTES = 16 * 1024;

/** Gives what is answered as JSON; `undefined`: the client is gone or was refused already. */
type Read = (x: Exchange, query: Query) => unknown;

/** Everything below the page, by its path there. Throws a `ControlFault` for what cannot be answered. */
export function compileData(
  surface: Surface,
  resources: ConsoleResources,
): (path: string, x: Exchange) => Promise<void> {
  const rows = dataRows(surface, resources);
  return async (path, x) => {
    const row = rows.get(path);
    if (!row) throw new ControlFault(404, 'nothing is here');
    const isRead = x.method === 'GET' || x.method === 'HEAD';
    if (!isRead && !(x.method === 'POST' && row.write)) {
      x.setHeader('Allow', row.write ? 'GET, HEAD, POST' : 'GET, HEAD');
      throw new ControlFault(405, 'method not allowed');
    }
    const answer = isRead ? await row.read(x, readQuery(x.args)) : await write(x, row);
    if (answer !== undefined) x.send(200, 'application/json', JSON.stringify(answer));
  };
}

interface Row {
  readonly read: Read;
  readonly write?: (body: unknown) => unknown;
}

function dataRows(
  { config, build, resources: { worker, dictionaries } }: Surface,
  { history, text }: ConsoleResources,
): ReadonlyMap<string, Row> {
  const overview = compileOverview(worker, history);
  const flags = new FlagTable(config, dictionaries);
  let opened: Feeds | undefined;
  // The view is complete only when requests come.
  const feeds = (): Feeds => (opened ??= new Feeds(worker));
  return new Map<string, Row>([
    [DATA_PATHS.overview, { read: (_x, query) => overview(readCount(query, 'since')) }],
    [DATA_PATHS.routes, { read: () => routeTree(worker.view, build.location) }],
    [
      DATA_PATHS.explain,
      { read: (x, query) => explainUrl(required(query, 'url'), { view: worker.view, x }) },
    ],
    [DATA_PATHS.config, { read: () => text }],
    [DATA_PATHS.events, { read: (x, query) => feeds().events(query.get('zone') ?? '', readFeed(query), x) }],
    [DATA_PATHS.log, { read: (x, query) => feeds().log(readFeed(query), x) }],
    [DATA_PATHS.flags, { read: () => flags.page(), write: (body) => flags.change(body) }],
  ]);
}

async function write(x: Exchange, row: Row): Promise<unknown> {
  const body = await x.readBody(MAX_BODY_BYTES);
  if (!body) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    throw new ControlFault(400, 'the body is not valid JSON');
  }
  return row.write?.(parsed);
}

function readFeed(query: Query): FeedQuestion {
  return { since: readCount(query, 'since'), wait: query.get('wait') === '1' };
}

function readCount(query: Query, name: string): number {
  const value = query.get(name) || '0';
  if (!/^\d{1,15}$/.test(value)) throw new ControlFault(400, `invalid query param: ${name} must be a number`);
  return Number(value);
}
