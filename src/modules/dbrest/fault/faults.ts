import { DbrestFault } from './dbrest-fault.ts';

/** What of a query string did not parse, as PostgREST names it. */
export type ParsedPart =
  | 'select parameter'
  | 'columns parameter'
  | 'on_conflict parameter'
  | 'filter'
  | 'order'
  | 'tree path'
  | 'logic tree'
  | 'limit'
  | 'offset'
  | 'query string';

/** PGRST100. `column` counts code points from 1; `report` is `unexpected X expecting A, B or C`. */
export function unparsable(
  part: ParsedPart,
  text: string,
  { column, report }: { column: number; report: string },
): DbrestFault {
  const message = `"failed to parse ${part} (${text})" (line 1, column ${column})`;
  return new DbrestFault({ code: 'PGRST100', status: 400, message, details: report });
}

/** A limit of the contract, told before the database sees anything. */
export function tooLarge(what: string): DbrestFault {
  return new DbrestFault({ code: 'PGRST100', status: 400, message: `Request exceeds a limit: ${what}` });
}

/** PGRST103, 416. */
export function rangeNotSatisfiable(details: string, headers: readonly string[] = []): DbrestFault {
  return new DbrestFault({
    code: 'PGRST103',
    status: 416,
    message: 'Requested range not satisfiable',
    details,
    headers,
  });
}

/** PGRST106, 406: the same whether the schema exists or not. */
export function schemaNotExposed(schema: string, exposed: readonly string[]): DbrestFault {
  const hint = `Only the following schemas are exposed: ${exposed.join(', ')}`;
  return new DbrestFault({ code: 'PGRST106', status: 406, message: `Invalid schema: ${schema}`, hint });
}

/** PGRST107, 406. */
export function notAcceptable(types: readonly string[]): DbrestFault {
  const message = `None of these media types are available: ${types.join(', ')}`;
  return new DbrestFault({ code: 'PGRST107', status: 406, message });
}

/** PGRST117, 405. */
export function methodNotAllowed(method: string, allowed: string): DbrestFault {
  const message = `Unsupported HTTP method: ${method}`;
  return new DbrestFault({ code: 'PGRST117', status: 405, message, headers: ['Allow', allowed] });
}

/** PGRST125, 404. */
export function invalidPath(): DbrestFault {
  return new DbrestFault({ code: 'PGRST125', status: 404, message: 'Invalid path specified in request URL' });
}

/** PGRST126, 404. */
export function noRoot(): DbrestFault {
  return new DbrestFault({ code: 'PGRST126', status: 404, message: 'Root endpoint metadata is disabled' });
}

/** PGRST205, 404. `similar`: a table that was perhaps meant. */
export function noTable(schema: string, table: string, similar: string | undefined): DbrestFault {
  const message = `Could not find the table '${schema}.${table}' in the schema cache`;
  const hint = similar === undefined ? null : `Perhaps you meant the table '${schema}.${similar}'`;
  return new DbrestFault({ code: 'PGRST205', status: 404, message, hint });
}

/** 42703, 400, worded as PostgreSQL does: the name never gets as far as a statement. */
export function noColumn(table: string, column: string): DbrestFault {
  return new DbrestFault({ code: '42703', status: 400, message: `column ${table}.${column} does not exist` });
}

/** 42704, 400, worded as PostgreSQL does. */
export function noType(type: string): DbrestFault {
  return new DbrestFault({ code: '42704', status: 400, message: `type "${type}" does not exist` });
}

/** 42601, 400, worded as PostgreSQL does: a cast to `text(3)`. */
export function noModifiers(type: string): DbrestFault {
  const message = `type modifier is not allowed for type "${type}"`;
  return new DbrestFault({ code: '42601', status: 400, message });
}

/** PGRST302, 401. */
export function anonymousDisabled(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST302',
    status: 401,
    message: 'Anonymous access is disabled',
    headers: ['WWW-Authenticate', 'Bearer'],
  });
}
