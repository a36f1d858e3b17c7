import type { LocationFacts } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { methodNotAllowed, notCallable } from '../fault/index.ts';
import type { ApiFacts } from '../openapi/index.ts';
import { functionPath, type Resource } from '../resource.ts';
import type { Asker } from './asker.ts';
import { compileDiscovery } from './discover.ts';
import { compileCall } from './call.ts';
import { compileRead } from './read.ts';
import { compileWrite } from './write.ts';

const CALLS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** What a request to a resource does, by its method. Throws and rejects with what becomes the error answer. */
export function compileOperations(
  config: DbrestConfig,
  { database, location }: { readonly database: RestDatabase; readonly location: LocationFacts },
): (x: Exchange, resource: Resource, asker: Asker) => Promise<void> {
  const read = compileRead(config, database);
  const write = compileWrite(config, database);
  const discover = compileDiscovery(config, { database, api: apiFacts(config, location) });
  const call = compileCall(config, database);
  const tableOperations = new Map([
    ['GET', read],
    ['HEAD', read],
    ['POST', write],
    ['PUT', write],
    ['PATCH', write],
    ['DELETE', write],
  ]);
  return (x, resource, asker) => {
    switch (resource.kind) {
      case 'root':
        return discover(x, asker);
      case 'function':
        if (!CALLS.has(x.method)) throw notCallable(x.method);
        return call(x, resource.name, asker);
      case 'table': {
        const operation = tableOperations.get(x.method);
        if (!operation) throw methodNotAllowed(x.method, [...tableOperations.keys()].join(', '));
        return operation(x, resource.name, asker);
      }
    }
  };
}

/** What a location serves, for its description. */
export function apiFacts(
  { schemas, rpc, jwtKeys, anonRole }: DbrestConfig,
  location: Pick<LocationFacts, 'path'>,
): ApiFacts {
  const path = functionPath(location, rpc);
  return {
    schemas,
    hasTables: path !== '/',
    ...(path !== undefined && { functionPath: path }),
    hasTokens: jwtKeys !== undefined,
    isOpen: anonRole !== undefined,
  };
}
