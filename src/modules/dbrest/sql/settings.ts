import { quoteIdentifier, type Statement } from './statement.ts';

/** What the database learns of a request; it all ends with the request's implicit transaction. */
export interface RequestSettings {
  readonly role: string;
  readonly searchPath: string;
  readonly readOnly: boolean;
  readonly timeoutMs: number;
  /** The raw token, '' when none was sent. */
  readonly jwt: string;
  /** JSON object. */
  readonly claims: string;
  readonly method: string;
  readonly path: string;
  /** JSON objects by header and cookie name. */
  readonly headers: string;
  readonly cookies: string;
}

const NAMES = [
  'role',
  'search_path',
  'transaction_read_only',
  'statement_timeout',
  'request.jwt',
  'request.jwt.claims',
  'request.method',
  'request.path',
  'request.headers',
  'request.cookies',
];

/** What a request of before may have left in the session for an answer that is not its own. */
const CLEARED = ['response.headers', 'response.status'];

/**
 * The statement that runs in front of every request's own: always the same text for the same `extra` names (which are
 * plain, as the configuration checked), every setting set every time.
 */
export function settingsWriter(
  extra: readonly string[] = [],
): (settings: RequestSettings, extraValues?: readonly string[]) => Statement {
  const set = [...NAMES, ...extra].map((name, i) => `pg_catalog.set_config('${name}', $${i + 1}, true)`);
  const cleared = CLEARED.map((name) => `pg_catalog.set_config('${name}', '', true)`);
  // Nobody needs the values back: what is volatile runs all the same.
  const text = `select from (select ${[...set, ...cleared].join(', ')}) s`;
  return (settings, extraValues = []) => ({
    text,
    values: [
      settings.role,
      settings.searchPath,
      settings.readOnly ? 'on' : 'off',
      String(settings.timeoutMs),
      settings.jwt,
      settings.claims,
      settings.method,
      settings.path,
      settings.headers,
      settings.cookies,
      ...extraValues,
    ],
  });
}

/** Schema names as the value of `search_path`. */
export function searchPath(schemas: readonly string[]): string {
  return schemas.map(quoteIdentifier).join(', ');
}
