import { DbrestFault } from './fault.ts';

/** How soon a client may try again. */
const RETRY: readonly string[] = ['Retry-After', '1'];

/** DBREST120, 400: nothing tells the gateway of changes of a table. */
export function notWatched(table: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST120',
    status: 400,
    message: `Changes of '${table}' cannot be followed`,
    details:
      'The relation has no triggers that announce its changes, or it does not show the key of a table that has them.',
    hint: 'Install them with "gw db setup --watch schema.table".',
  });
}

/** DBREST121, 400: a read whose rows are not those of one table, one by one. */
export function notFollowable(details: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST121',
    status: 400,
    message: 'This request cannot be followed as a stream of events',
    details,
  });
}

/** DBREST122, 400: more rows than a stream keeps track of. */
export function tooManyFollowed(mostRows: number): DbrestFault {
  return new DbrestFault({
    code: 'DBREST122',
    status: 400,
    message: 'The request has too many rows to be followed',
    details: `A stream of events follows at most ${mostRows} rows.`,
    hint: 'Add a filter, or a limit for the rows at the start.',
  });
}

/** DBREST122, 400: rows that are too long together, at the start or changed at once. */
export function tooLongFollowed(mostCharacters: number): DbrestFault {
  return new DbrestFault({
    code: 'DBREST122',
    status: 400,
    message: 'The request has too many rows to be followed',
    details: `The rows of a stream of events have at most ${mostCharacters} characters together.`,
    hint: 'Add a filter, or select fewer columns.',
  });
}

/** DBREST123: too many streams. 429 for one client, 503 for all of them. */
export function tooManyStreams(of: 'client' | 'location'): DbrestFault {
  return new DbrestFault({
    code: 'DBREST123',
    status: of === 'client' ? 429 : 503,
    message: of === 'client' ? 'Too many streams of events of one client' : 'Too many streams of events',
    headers: RETRY,
  });
}

/** DBREST124, 503: what changes now would not be known. */
export function notListening(): DbrestFault {
  return new DbrestFault({
    code: 'DBREST124',
    status: 503,
    message: 'Notifications of the database cannot be received. Retrying.',
    headers: RETRY,
  });
}

/** DBREST125, 400: a malformed parameter of a stream. */
export function badStreamQuery(details: string): DbrestFault {
  return new DbrestFault({ code: 'DBREST125', status: 400, message: 'Invalid stream of events', details });
}
