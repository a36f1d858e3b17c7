import type { Build, LocationParts } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { Authenticator } from './auth/index.ts';
import type { DbrestConfig } from './config.ts';
import { compileCors } from './cors.ts';
import type { RestDatabase } from './database.ts';
import { bodyTooLarge, type DbrestFault } from './fault/index.ts';
import { compileOperations, compileOptions, headerValues, Stopwatch, upToDate } from './operation/index.ts';
import { faultOf, sendFault } from './response/index.ts';
import { resourceResolver } from './resource.ts';

/** What a location works with. */
export interface DbrestResources {
  readonly database: RestDatabase;
  readonly authenticator: Authenticator;
}

/** `dbrest_pass`: who asks, what is asked, the answer; whatever goes wrong on the way becomes one. */
export function compileDbrest(
  config: DbrestConfig,
  { database, authenticator }: DbrestResources,
  build: Build,
): LocationParts {
  const cors = compileCors(config.corsOrigins);
  const resourceOf = resourceResolver(build.location, config.rpc);
  const operate = compileOperations(config, { database, location: build.location });
  const tellOptions = compileOptions(config, database);
  build.needAllHeaders();

  const content = async (x: Exchange): Promise<void> => {
    let role = config.anonRole;
    try {
      if (x.method === 'OPTIONS' && cors.preflight(x)) return;
      const watch = config.serverTiming ? new Stopwatch() : undefined;
      const known = authenticator.identify(headerValues(x, 'authorization'));
      const identity = known instanceof Promise ? await known : known;
      role = identity.role;
      watch?.lap('jwt');
      const resource = resourceOf(x.uri);
      if (x.method === 'OPTIONS') return await tellOptions(x, resource, role);
      await upToDate(database, x, () => operate(x, resource, { identity, watch }));
    } catch (error) {
      answerFault(x, error, { config, build, authenticated: role !== config.anonRole });
    }
  };
  const tooLarge = (x: Exchange): void => sendFault(x, bodyTooLarge(), config.errorVerbosity);
  return { content, tooLarge, filter: cors.filter, slashRedirect: true };
}

function answerFault(
  x: Exchange,
  error: unknown,
  { config, build, authenticated }: { config: DbrestConfig; build: Build; authenticated: boolean },
): void {
  // Cancelled for a client that left: nobody to answer, nothing wrong.
  if (x.aborted) return;
  const fault = faultOf(error, { authenticated });
  if (!fault) return;
  if (fault.status >= 500 || x.done || fault.logged !== undefined) logFault(x, fault, build);
  // The head is gone already: only a body cut short can tell that not all of it came.
  if (x.done) x.abort();
  else sendFault(x, fault, config.errorVerbosity);
}

function logFault(x: Exchange, { code, details, message, logged }: DbrestFault, { log }: Build): void {
  const more = logged ?? (typeof details === 'object' ? details && JSON.stringify(details) : details);
  const text = `dbrest: ${code} ${message}${more === null ? '' : ` (${more})`}`.replace(/\s+/g, ' ');
  log.write('error', text, { client: x.remoteAddress, request: `${x.method} ${x.requestUri}`, host: x.host });
}
