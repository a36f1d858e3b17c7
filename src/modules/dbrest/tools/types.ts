import type { DbrestPass } from '../directives/index.ts';
import { EVERY_RIGHT, rightsOf } from '../schema/index.ts';
import { inSlices } from '../event-loop.ts';
import { type ApiTypes, describeTypes } from '../types/index.ts';
import { readSchema } from './read-schema.ts';

/** What is to be described: schemas in the order of `dbrest_schemas`, as a role sees them or completely. */
interface TypesView {
  readonly schemas: readonly string[];
  readonly role?: string | undefined;
  /** `dbrest_nested_insert` of the location; a database without one has none. */
  readonly nests?: boolean;
}

/** Returns the types of schemas of a database, or a fault. Rejects if the database cannot be read. */
export async function describeDatabase(
  pass: DbrestPass,
  { schemas, role, nests = false }: TypesView,
): Promise<{ readonly types: ApiTypes } | { readonly fault: string }> {
  const known = await readSchema(pass);
  const missing = schemas.find((name) => known.namespaces?.has(name) !== true);
  if (missing !== undefined) {
    const others = [...(known.namespaces?.keys() ?? [])].sort().join(', ');
    return { fault: `schema "${missing}" does not exist, expected ${others}` };
  }
  if (role !== undefined && !known.roles.has(role))
    return { fault: `role "${role}" does not exist, or the login role may not become it` };
  const rights = role === undefined ? EVERY_RIGHT : rightsOf(role, known);
  return { types: await inSlices(describeTypes({ known, schemas, rights, nests })) };
}
