import { type ArgReader, directivesFor, readers } from '../../../config/index.ts';

/** `dbrest_max_rows`: the most rows in one response, and of each embed. */
export interface RowLimits {
  readonly usual?: number;
  /** The tables, views and functions that have a limit of their own. */
  readonly named: readonly (readonly [name: string, rows: number])[];
}

/** `dbrest_cors_origins`: all origins, or a list of origins that may read responses; the empty list allows none. */
export type CorsOrigins = '*' | readonly string[];

/** The limits of requests and the form of their responses. */
export interface RequestsConfig {
  /** Never empty. The first schema is the default. */
  readonly schemas: readonly string[];
  readonly extraSearchPath: readonly string[];
  readonly maxRows?: RowLimits;
  /** In the units of PostgreSQL's planner. */
  readonly maxCost?: number;
  /** The function that is called before every request: schema and name, or the name alone. */
  readonly preRequest?: readonly string[];
  readonly txEnd: TxEnd;
  readonly settings?: readonly Setting[];
  /** `minimal`: an error response has only `code` and `message`. */
  readonly errorVerbosity: 'verbose' | 'minimal';
  readonly aggregates: boolean;
  /** The rows of a POST may have rows of related tables in them. */
  readonly nestedInsert: boolean;
  /** The paths that call functions: those below `rpc/`, all of them, or none. */
  readonly rpc: 'auto' | 'on' | 'off';
  /** `POST <location>/rpc/batch` runs several requests in one transaction. */
  readonly batch: boolean;
  readonly batchMax: number;
  /** `POST <location>/mcp` offers tools to clients of the Model Context Protocol: `on`, those that read. */
  readonly mcp: 'on' | 'write' | 'off';
  /** The OpenAPI description at the root lists everything that the role may use, everything, or nothing. */
  readonly openapi: 'follow-privileges' | 'ignore-privileges' | 'off';
  readonly openapiVersion: '3.1' | '2.0';
  /** The function that the root responds with instead of the description: schema and name, or the name alone. */
  readonly root?: readonly string[];
  /** The URL of the API in its description. */
  readonly openapiServer?: string;
  /** The request header that goes back in the response. */
  readonly traceHeader?: string;
  readonly corsOrigins: CorsOrigins;
  readonly plan: boolean;
  readonly serverTiming: boolean;
  /** How the database learns the id of each request: as `application_name` (`on`), in a comment, or not. */
  readonly requestComment: 'on' | 'comment' | 'off';
  /** An embed with an alias may be addressed by its target in filters, orders and limits. */
  readonly legacyTargetNames: boolean;
}

/** The end of the transaction of a request, and whether `Prefer: tx` may override it. */
export type TxEnd = 'commit' | 'commit-allow-override' | 'rollback' | 'rollback-allow-override';

/** `dbrest_setting`: a setting of every request's transaction. */
interface Setting {
  /** Includes the prefix `app.settings.`. */
  readonly name: string;
  readonly value: string;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;

/** The next name of a list with the comma behind it, or an empty place between commas. */
const LISTED = /(?:\s*"((?:[^"\0]|"")+)"\s*|([^",\0]*))(?:,|$)/y;

/** The names in a list such as `a, "B, c"`, quoted as in SQL; unquoted ones keep their case. `undefined`: malformed. */
function namesIn(list: string): readonly string[] | undefined {
  const names: string[] = [];
  LISTED.lastIndex = 0;
  while (LISTED.lastIndex < list.length) {
    const found = LISTED.exec(list);
    if (!found) return undefined;
    const [, quoted, plain = ''] = found;
    const name = quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"');
    if (name !== '') names.push(name);
  }
  return names;
}

/** Reads names, as one word `"a, b"` or several. Duplicates are removed. `mayBeEmpty`: `""` is an empty list. */
function nameList({ mayBeEmpty = false } = {}): ArgReader<readonly string[]> {
  const syntax = mayBeEmpty ? '"[name, ...]"' : '"name, ..."';
  return readers.words({ syntax, min: 1, max: Infinity }, (list, { directive, report, span }) => {
    if (mayBeEmpty && list.length === 1 && list[0]?.value === '') return [];
    const names = new Set<string>();
    for (const word of list) {
      const found = namesIn(word.value);
      if (!found) {
        report.emerg(`malformed name in "${directive}" directive`, word.span, QUOTED_NAMES);
        return undefined;
      }
      for (const name of found) names.add(name);
    }
    if (names.size > 0) return [...names];
    report.emerg(`no name in "${directive}" directive`, span);
    return undefined;
  });
}

const LIMIT = /^(?:([^=]+)=)?(\d{1,15})$/;
const MOST_ROWS = 2 ** 31 - 1;

/** The limit of all, and those of single names. */
const rowLimits: ArgReader<RowLimits> = readers.words(
  { syntax: '[number] [name=number ...]', min: 1, max: Infinity },
  (list, { directive, report }) => {
    const named = new Map<string, number>();
    let usual: number | undefined;
    for (const [at, { value, span }] of list.entries()) {
      const [, name, rows] = LIMIT.exec(value) ?? [];
      if (rows === undefined || (name === undefined && at > 0)) {
        report.emerg(`"${directive}" directive invalid number`, span);
        return undefined;
      }
      if (Number(rows) < 1 || Number(rows) > MOST_ROWS) {
        report.emerg(`value must be between 1 and ${MOST_ROWS}`, span);
        return undefined;
      }
      if (name?.includes('.')) {
        const fix = `write "${name.slice(name.lastIndexOf('.') + 1)}": a limit holds in all schemas`;
        report.emerg(`"${name}" in "${directive}" directive has a schema`, span, fix);
        return undefined;
      }
      if (name !== undefined && named.has(name)) {
        report.emerg(`duplicate "${name}" in "${directive}" directive`, span);
        return undefined;
      }
      if (name === undefined) usual = Number(rows);
      else named.set(name, Number(rows));
    }
    return { ...(usual !== undefined && { usual }), named: [...named] };
  },
);

const QUOTED_NAMES = `expected names as in SQL, such as 'api, "My schema"'`;

const NAME = String.raw`("(?:[^"\0]|"")+"|[^".\0]+)`;
const QUALIFIED = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

/** Reads `schema.function` or `function`, quoted as in SQL. Unquoted names keep their case. */
const functionName = readers.oneWord<readonly string[]>(
  '[schema.]function',
  (word, { directive, report }) => {
    const [, ...names] = QUALIFIED.exec(word.value) ?? [];
    if (names[0] !== undefined) {
      return names.filter(Boolean).map((name) => name.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'));
    }
    report.emerg(`invalid function in "${directive}" directive`, word.span, 'expected "schema.function"');
    return undefined;
  },
);

const PREFIX = 'app.settings.';

/** Reads the name of a setting, with or without its prefix, and a value. */
const setting = readers.words<Setting>(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], { directive, report }) => {
    if (!name || !value) return undefined;
    const full = name.value.startsWith(PREFIX) ? name.value : `${PREFIX}${name.value}`;
    // The names that PostgreSQL accepts for custom settings.
    if (/^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)*$/.test(full)) return { name: full, value: value.value };
    report.emerg(`invalid name "${name.value}" in "${directive}" directive`, name.span);
    return undefined;
  },
);

/** An origin as browsers send it: without a path, even `/`. */
const ORIGIN = /^(?:[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+|null)$/;

/** Reads `*`, `off`, or origins separated by blanks or commas. */
const corsOrigins = readers.words<CorsOrigins>(
  { syntax: '* | off | origin ...', min: 1, max: Infinity },
  (list, { directive, report }) => {
    const origins = list.flatMap(({ value, span }) =>
      value
        .split(',')
        .flatMap((piece) => (piece.trim() ? [{ origin: piece.trim().toLowerCase(), span }] : [])),
    );
    const [first, ...others] = origins;
    if (others.length === 0 && first?.origin === '*') return '*';
    if (others.length === 0 && first?.origin === 'off') return [];
    for (const { origin, span } of origins) {
      if (ORIGIN.test(origin)) continue;
      report.emerg(`invalid origin "${origin}" in "${directive}" directive`, span, 'expected "https://host"');
      return undefined;
    }
    return origins.map(({ origin }) => origin);
  },
);

const SERVER_URL = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/i;

/** Reads the URL that the paths of the API are appended to. */
const serverUrl = readers.oneWord<string>('url', (word, { directive, report }) => {
  if (SERVER_URL.test(word.value)) return word.value.replace(/\/+$/, '');
  report.emerg(`invalid URL in "${directive}" directive`, word.span, 'expected "https://host/path"');
  return undefined;
});

/** Headers that frame a response, describe its body, or let its reader log in. */
const NOT_TRACED: ReadonlySet<string> = new Set(
  `authorization connection content-encoding content-length content-range content-type cookie date host keep-alive
   proxy-authorization server set-cookie te trailer transfer-encoding upgrade`.split(/\s+/),
);

/** Reads the name of a header that may go from a request into its response. */
const traceHeader = readers.oneWord<string>('name', (word, { directive, report }) => {
  const name = word.value;
  if (/^[!#$%&'*+.^_`|~\w-]{1,200}$/.test(name) && !NOT_TRACED.has(name.toLowerCase())) return name;
  report.emerg(
    `invalid header "${name}" in "${directive}" directive`,
    word.span,
    'for example "X-Request-Id"',
  );
  return undefined;
});

/** The rows for requests and their responses. */
export const requestsDirectives = directivesFor<RequestsConfig>()({
  dbrest_schemas: {
    contexts: EVERYWHERE,
    args: nameList(),
    into: 'schemas',
    default: ['public'],
    defaultText: 'public',
    summary: 'Schemas that requests may read; the first is the default. Names may be quoted as in SQL.',
    source: 'gw',
  },
  dbrest_extra_search_path: {
    contexts: EVERYWHERE,
    args: nameList({ mayBeEmpty: true }),
    into: 'extraSearchPath',
    default: ['public'],
    defaultText: 'public',
    summary:
      'Schemas that are searched for operators and functions besides the served one; "" is none. Names may be quoted as in SQL.',
    source: 'gw',
  },
  dbrest_max_rows: {
    contexts: EVERYWHERE,
    args: rowLimits,
    into: 'maxRows',
    summary:
      'Maximum number of rows in one response, and in each embed. `name=number` is the limit of one table, view or function, also a higher one.',
    source: 'gw',
  },
  dbrest_max_cost: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1 }),
    into: 'maxCost',
    summary:
      'The highest cost that the planner of PostgreSQL may expect of a request; what would cost more is refused (400, DBREST100) before it runs.',
    source: 'gw',
  },
  dbrest_pre_request: {
    contexts: EVERYWHERE,
    args: functionName,
    into: 'preRequest',
    summary: 'Function that runs before every request, as its role and in its transaction.',
    source: 'gw',
  },
  dbrest_tx_end: {
    contexts: EVERYWHERE,
    args: readers.oneOf('commit', 'commit-allow-override', 'rollback', 'rollback-allow-override'),
    into: 'txEnd',
    default: 'commit',
    summary: 'How the transaction of a request ends, and whether "Prefer: tx" may choose.',
    source: 'gw',
  },
  dbrest_setting: {
    contexts: EVERYWHERE,
    args: setting,
    into: 'settings',
    repeat: 'append',
    secret: 'value',
    summary: 'A setting "app.settings.name" that is set in every request.',
    source: 'gw',
  },
  dbrest_error_verbosity: {
    contexts: EVERYWHERE,
    args: readers.oneOf('verbose', 'minimal'),
    into: 'errorVerbosity',
    default: 'verbose',
    summary:
      'What an error response contains: everything, or code and message alone. The log has everything.',
    source: 'gw',
  },
  dbrest_aggregates: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'aggregates',
    default: true,
    defaultText: 'on',
    summary: 'Allows aggregate functions in "select", "order" and "having".',
    source: 'gw',
  },
  dbrest_nested_insert: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'nestedInsert',
    default: false,
    defaultText: 'off',
    summary:
      'Whether the rows of a POST may have rows of related tables in them, which are inserted in the same transaction.',
    source: 'gw',
  },
  dbrest_rpc: {
    contexts: EVERYWHERE,
    args: readers.oneOf('auto', 'on', 'off'),
    into: 'rpc',
    default: 'auto',
    summary:
      'Which paths call functions: "auto", those below "rpc/", and all of a location whose path ends in "/rpc/"; "on", all; "off", none.',
    source: 'gw',
  },
  dbrest_batch: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'batch',
    default: false,
    summary:
      'Whether POST of "rpc/batch" below the location runs a JSON array of requests in one transaction: all of them, or none. A function of that name is hidden. Access rules of other locations do not hold for the items.',
    source: 'gw',
  },
  dbrest_batch_max: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1, max: 1_000 }),
    into: 'batchMax',
    default: 100,
    summary: 'Maximum number of requests in one batch, 1 to 1000.',
    source: 'gw',
  },
  dbrest_mcp: {
    contexts: EVERYWHERE,
    args: readers.oneOf('on', 'write', 'off'),
    into: 'mcp',
    default: 'off',
    summary:
      'Whether "mcp" below the location serves the Model Context Protocol: tools that read what the role of the token may read ("on"), and also change what it may change ("write"). A table of that name is hidden.',
    source: 'gw',
  },
  dbrest_openapi: {
    contexts: EVERYWHERE,
    args: readers.oneOf('follow-privileges', 'ignore-privileges', 'off'),
    into: 'openapi',
    default: 'follow-privileges',
    summary:
      'What the OpenAPI description at the root of a location lists: what the role may use, or everything; "off" disables it.',
    source: 'gw',
  },
  dbrest_openapi_version: {
    contexts: EVERYWHERE,
    args: readers.oneOf('3.1', '2.0'),
    into: 'openapiVersion',
    default: '3.1',
    summary:
      'The version of the OpenAPI description for requests that ask for none; "Accept: application/openapi+json;version=2.0" gets that one in any case.',
    source: 'gw',
  },
  dbrest_root: {
    contexts: EVERYWHERE,
    args: functionName,
    into: 'root',
    summary:
      'Function that GET of the root of a location calls instead of giving the description; a schema must be one of dbrest_schemas.',
    source: 'gw',
  },
  dbrest_openapi_server: {
    contexts: EVERYWHERE,
    args: serverUrl,
    into: 'openapiServer',
    summary:
      'The URL of the API in the OpenAPI description; without it, it is relative to where the description is read.',
    source: 'gw',
  },
  dbrest_trace_header: {
    contexts: EVERYWHERE,
    args: traceHeader,
    into: 'traceHeader',
    summary: 'A request header that the response gets too, for tracing.',
    source: 'gw',
  },
  dbrest_cors_origins: {
    contexts: EVERYWHERE,
    args: corsOrigins,
    into: 'corsOrigins',
    default: '*',
    defaultText: '*',
    summary: 'Origins of pages that may read responses; listed ones may send credentials.',
    source: 'gw',
  },
  dbrest_plan: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'plan',
    default: false,
    defaultText: 'off',
    summary: 'Responds with the execution plan where "Accept" asks for it.',
    source: 'gw',
  },
  dbrest_server_timing: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'serverTiming',
    default: false,
    defaultText: 'off',
    summary: 'Reports in "Server-Timing" how long each phase of a request took.',
    source: 'gw',
  },
  dbrest_request_comment: {
    contexts: EVERYWHERE,
    args: readers.oneOf('on', 'comment', 'off'),
    into: 'requestComment',
    default: 'off',
    summary:
      'Whether the database learns the id of the request ($request_id, or that of `request_id_header`). "on": as application_name of the transaction, for log_line_prefix and pg_stat_activity, if it has at most 60 letters, digits and characters of "_.:-". "comment": before the text of its statements, with the trace, as sqlcommenter writes it (`request_id` and `traceparent` in a comment), which PostgreSQL then has to parse and plan each time.',
    source: 'gw',
  },
  dbrest_legacy_target_names: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'legacyTargetNames',
    default: true,
    defaultText: 'on',
    summary:
      'Whether filters, orders and limits may name an embedded relation that has an alias by its own name. Responses then have a "Warning"; "off" makes it an error.',
    source: 'gw',
  },
});
