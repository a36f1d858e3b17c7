import type { Build } from '../../contract/index.ts';
import {
  type Exchange,
  type Handler,
  type KnowsHost,
  logContext,
  SITE_HEADERS,
  writeRefusal,
} from '../../http/index.ts';
import { compileAllowlist, NOT_ALLOWED } from './allowlist.ts';
import type { CachePurgeConfig } from './directives.ts';
import type { PublishPurge, PurgedTarget } from './events.ts';
import { purgeTargets, readTargets, type Targets } from './targets.ts';

const MODULE = '{"module":"cache_purge"';
const MAX_BODY_BYTES = 1_048_576;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** The resources of the API in one location. */
export interface PurgeScope {
  readonly zone: string;
  readonly targets: Targets;
  readonly publish: PublishPurge;
  readonly knowsHost: KnowsHost;
}

/** Compiles `cache_purge_api`. */
export function compilePurgeApi(config: CachePurgeConfig, scope: PurgeScope, build: Build): Handler {
  for (const name of [...SITE_HEADERS, 'content-type']) build.needHeader(name);
  const isAllowed = compileAllowlist(config, build);
  return (x) => {
    if (x.method !== 'POST') {
      x.response.setHeader('Allow', 'POST');
      return refuse(x, 405, 'method not allowed');
    }
    if (!JSON_TYPE.test(x.header('content-type') ?? ''))
      return refuse(x, 415, 'content-type must be application/json');
    // Pages of other sites need a preflight request for this; one of a foreign name that resolves to gw does not.
    const foreign = writeRefusal(x, scope.knowsHost);
    if (foreign !== undefined) return refuse(x, 403, foreign);
    if (!isAllowed(x)) return refuse(x, 403, NOT_ALLOWED);
    return x.readBody(MAX_BODY_BYTES).then((body) => {
      // Without a body, the response has been sent already or the client has gone.
      if (body) return purge(x, { body, config, scope });
      return undefined;
    });
  };
}

/** Responds to a body that is too large. */
export const refuseLarge: Handler = (x) => refuse(x, 413, 'the body is too large');

async function purge(
  x: Exchange,
  { body, config, scope }: { body: Buffer; config: CachePurgeConfig; scope: PurgeScope },
): Promise<void> {
  const { match, maxKeys, allowAll } = config;
  const { zone, targets, publish } = scope;
  const asked = readTargets(body, { kind: targets.kind, maxKeys, allowAll });
  if (typeof asked === 'string') return refuse(x, 400, asked);
  const context = logContext(x);
  const counts = await purgeTargets(targets, asked, context);
  const results = asked.map((target, nth): PurgedTarget => ({ target, purged: counts[nth] ?? 0 }));
  const purged = results.reduce((sum, result) => sum + result.purged, 0);
  const missing = results.filter((result) => result.purged === 0).length;
  const events = publish({ match, results, purged, missing }, context);
  const fields = {
    module: 'cache_purge',
    zone,
    match,
    requested: results.length,
    purged,
    missing,
    physical_cache_invalidated: true,
    rejected: 0,
    worker_events: events,
    results,
  };
  x.send(200, 'application/json', JSON.stringify(fields));
}

function refuse(x: Exchange, status: number, error: string): void {
  x.send(status, 'application/json', `${MODULE},"status":"error","error":${JSON.stringify(error)}}`);
}
