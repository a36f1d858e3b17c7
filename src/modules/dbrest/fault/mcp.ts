import { DbrestFault } from './fault.ts';

/** DBREST130, 403: a page of a site that may not use the tools sent the request. */
export function foreignOrigin(why: string): DbrestFault {
  return new DbrestFault({ code: 'DBREST130', status: 403, message: why });
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
