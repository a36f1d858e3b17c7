import { DbrestFault } from './dbrest-fault.ts';

/** DBREST110, 400: the body of a batch is not an array. */
export function notABatch(): DbrestFault {
  return new DbrestFault({ code: 'DBREST110', status: 400, message: 'A batch is a JSON array of requests' });
}

/** DBREST111, 400: a batch cannot run one of its items. `why` must not contain parts of the body. */
export function invalidItem(why: string, item: number): DbrestFault {
  const message = 'An item of the batch is not a request that it can run';
  return new DbrestFault({ code: 'DBREST111', status: 400, message, details: why, item });
}

/** DBREST112, 413. */
export function tooManyItems(most: number): DbrestFault {
  const message = `A batch has at most ${most} items`;
  return new DbrestFault({ code: 'DBREST112', status: 413, message });
}

/** DBREST113, 400: the batch had no effect. */
export function tooLargeResponses(mostBytes: number): DbrestFault {
  const message = `The responses of a batch have at most ${mostBytes} bytes together`;
  return new DbrestFault({ code: 'DBREST113', status: 400, message });
}

/**
 * DBREST114, 403: a request that is a part of another one would not be served by its location if it was sent by itself.
 * `refusal`: the status that it would get.
 */
export function notServedHere(refusal: number | undefined): DbrestFault {
  const details =
    refusal === undefined
      ? 'Another location would serve it'
      : `By itself it would get the status ${refusal}`;
  const message = 'The configuration does not serve this as a part of another request';
  return new DbrestFault({ code: 'DBREST114', status: 403, message, details });
}

/** The fault of an item of a batch, by its index. */
export function faultOfItem(fault: DbrestFault, item: number): DbrestFault {
  const { code, status, message, details, hint, logged, isWished, reason, headers } = fault;
  return new DbrestFault({ code, status, message, details, hint, logged, isWished, reason, headers, item });
}

/** How soon a client may try again. */
const RETRY: readonly string[] = ['Retry-After', '1'];

/** DBREST120, 400: changes of a table are not announced to the gateway. */
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

/** DBREST124, 503: changes would not be noticed at present. */
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

/** DBREST131, 405. */
export function notOfTools(method: string): DbrestFault {
  const message = `The tools of the database are called by POST, not ${method}`;
  return new DbrestFault({ code: 'DBREST131', status: 405, message, headers: ['Allow', 'OPTIONS,POST'] });
}

/** DBREST132, 400: a header of a request for tools. */
export function wrongToolHeader(message: string, status: 400 | 406 | 415 = 400): DbrestFault {
  return new DbrestFault({ code: 'DBREST132', status, message });
}

/** DBREST133, 400: the arguments of a tool. `why` says what is expected of which argument. */
export function wrongArguments(why: string): DbrestFault {
  const message = 'The arguments of the tool are not valid';
  return new DbrestFault({ code: 'DBREST133', status: 400, message, details: why });
}

/** DBREST134, 403: a tool that only reads would write, because the schema has changed since it was listed. */
export function onlyReads(): DbrestFault {
  const message = 'The tools of this database only read';
  return new DbrestFault({ code: 'DBREST134', status: 403, message });
}

/** DBREST135, 400. */
export function tooLargeResult(mostBytes: number): DbrestFault {
  const message = `The result of a tool has at most ${mostBytes} bytes`;
  const hint = 'Ask for fewer rows or columns.';
  return new DbrestFault({ code: 'DBREST135', status: 400, message, hint });
}

/** DBREST136, 403: a page of a site that may not use the tools sent the request. */
export function foreignOrigin(why: string): DbrestFault {
  return new DbrestFault({ code: 'DBREST136', status: 403, message: why });
}
