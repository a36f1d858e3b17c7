import type { Build, VariableDefinition } from '../../contract/index.ts';
import { type Exchange, stateKey } from '../../http/index.ts';
import type { RequestHead } from './request/index.ts';

/** The values of the variables of a request. */
export class RequestNotes {
  role: string | undefined = undefined;
  /** `schema.name` of the table, view or function. */
  relation: string | undefined = undefined;
  /** The code of the error that the client gets. */
  code: string | undefined = undefined;
  rows: number | undefined = undefined;
  databaseMs: number | undefined = undefined;
}

const NOTES = stateKey<RequestNotes>('what dbrest knows of a request');

/** The notes of a request; absent where the configuration uses none of the variables. */
export function notesOf(x: Exchange): RequestNotes | undefined {
  return x.state(NOTES);
}

/** Compiles the function that takes the notes of a request; `undefined` where nothing needs them. */
export function compileNotes(build: Build): ((x: Exchange) => RequestNotes) | undefined {
  if (!build.usesFamily('dbrest_')) return undefined;
  return (x) => {
    const known = x.state(NOTES);
    if (known) return known;
    const notes = new RequestNotes();
    x.setState(NOTES, notes);
    return notes;
  };
}

/** No name in a database is longer. */
const LONGEST_NAME_BYTES = 63;

/** The relation that a request is for, whether it exists or not; `undefined` for the root. */
export function relationOf({ schema, resource: { kind, name } }: RequestHead): string | undefined {
  const isNone = kind === 'root' || Buffer.byteLength(name) > LONGEST_NAME_BYTES;
  return isNone ? undefined : `${schema}.${name}`;
}

const told = (summary: string, read: (notes: RequestNotes) => string | undefined): VariableDefinition => ({
  summary,
  live: true,
  volatile: true,
  compile: () => (x) => {
    const notes = x.state(NOTES);
    return notes && read(notes);
  },
});

/** The variables of the module. Role and relation are known before limits are checked, the others with the response. */
export const variables: Readonly<Record<string, VariableDefinition>> = {
  dbrest_role: told('Database role of the request; none if its token is refused.', ({ role }) => role),
  dbrest_relation: told(
    'Table, view or function of the request as "schema.name".',
    ({ relation }) => relation,
  ),
  dbrest_code: told('Code of the error that the client got: "PGRST205", "42501".', ({ code }) => code),
  dbrest_rows: told('Rows of the response, or those that a write touched.', ({ rows }) => rows?.toString()),
  dbrest_db_time: told(
    'Seconds, with milliseconds, that the database took, the wait for a connection included.',
    ({ databaseMs }) => (databaseMs === undefined ? undefined : (databaseMs / 1000).toFixed(3)),
  ),
};
