import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { Database } from '../database.ts';
import { methodNotAllowed, noRoot, notYet } from '../fault/index.ts';
import type { Resource } from '../resource.ts';
import type { Asker } from './asker.ts';
import { compileRead } from './read.ts';
import { compileWrite } from './write.ts';

/** What a request to a resource does, by its method. Throws and rejects with what becomes the error answer. */
export function compileOperations(
  config: DbrestConfig,
  database: Database,
): (x: Exchange, resource: Resource, asker: Asker) => Promise<void> {
  const read = compileRead(config, database);
  const write = compileWrite(config, database);
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
        throw noRoot();
      case 'function':
        throw notYet('Functions are');
      case 'table': {
        const operation = tableOperations.get(x.method);
        if (!operation) throw methodNotAllowed(x.method, [...tableOperations.keys()].join(', '));
        return operation(x, resource.name, asker);
      }
    }
  };
}
