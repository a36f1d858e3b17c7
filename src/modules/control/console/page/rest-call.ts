/** A filter on one column. */
export interface Filter {
  readonly column: string;
  readonly operator: string;
  readonly value: string;
}

/** One call of a REST location. */
export interface RestCall {
  readonly method: string;
  /** Absolute URL of the location, without a trailing slash. */
  readonly base: string;
  /** Path below the location, with its slash. */
  readonly path: string;
  readonly kind: 'table' | 'function';
  readonly name: string;
  readonly select: string;
  readonly filters: readonly Filter[];
  readonly order: string;
  readonly limit: string;
  /** JSON; '' without a body. */
  readonly body: string;
  /** A bearer token; '' without one. */
  readonly token: string;
}

export const OPERATORS = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'like',
  'ilike',
  'in',
  'is',
  'fts',
  'cs',
] as const;

/** Returns the URL of a call; values are percent-encoded only where necessary. */
export function urlOf({ base, path, kind, method, select, filters, order, limit }: RestCall): string {
  const isCall = kind === 'function' && method === 'GET';
  const pairs = [
    ...(select === '' ? [] : [['select', select]]),
    ...filters.map(({ column, operator, value }) => [
      column,
      isCall && operator === '' ? value : `${operator}.${value}`,
    ]),
    ...(order === '' ? [] : [['order', order]]),
    ...(limit === '' ? [] : [['limit', limit]]),
  ];
  const query = pairs.map(([name = '', value = '']) => `${encode(name)}=${encode(value)}`).join('&');
  return `${base}${path}${query === '' ? '' : `?${query}`}`;
}

export function headersOf({ body, token, method, kind }: RestCall): Readonly<Record<string, string>> {
  return {
    Accept: 'application/json',
    ...(body !== '' && { 'Content-Type': 'application/json' }),
    ...(kind === 'table' && method !== 'GET' && { Prefer: 'return=representation' }),
    ...(token !== '' && { Authorization: `Bearer ${token}` }),
  };
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|28|29|2F|2A)/gi, decodeURIComponent);
}

/** The call as code for three clients. The token is replaced by a placeholder, since snippets are meant to be shared. */
export const SNIPPETS: readonly { readonly name: string; text(call: RestCall): string }[] = [
  { name: 'curl', text: curl },
  { name: 'fetch', text: fetchCode },
  { name: 'supabase-js', text: supabase },
];

const TOKEN = '$TOKEN';

function shownHeaders(call: RestCall): [string, string][] {
  const headers = Object.entries(headersOf(call)).filter(
    ([name, value]) => name !== 'Accept' || value !== 'application/json',
  );
  return headers.map(([name, value]) => [name, name === 'Authorization' ? `Bearer ${TOKEN}` : value]);
}

function curl(call: RestCall): string {
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = shownHeaders(call).map(([name, value]) =>
    value.includes(TOKEN) ? `-H "${name}: ${value}"` : `-H ${quote(`${name}: ${value}`)}`,
  );
  const method =
    call.method === 'GET' || (call.method === 'POST' && call.body !== '') ? [] : [`-X ${call.method}`];
  const body = call.body === '' ? [] : [`--data ${quote(compact(call.body))}`];
  return [`curl ${quote(urlOf(call))}`, ...method, ...headers, ...body].join(' \\\n  ');
}

function fetchCode(call: RestCall): string {
  const headers = shownHeaders(call).map(([name, value]) => {
    const text = value.includes(TOKEN) ? '`Bearer ${token}`' : literal(value);
    return `    ${/^\w+$/.test(name) ? name : literal(name)}: ${text},\n`;
  });
  const init = [
    ...(call.method === 'GET' ? [] : [`  method: ${literal(call.method)},\n`]),
    ...(headers.length === 0 ? [] : [`  headers: {\n${headers.join('')}  },\n`]),
    ...(call.body === '' ? [] : [`  body: JSON.stringify(${compact(call.body)}),\n`]),
  ];
  const options = init.length === 0 ? '' : `, {\n${init.join('')}}`;
  return `const response = await fetch(${literal(urlOf(call))}${options});\nconst rows = await response.json();`;
}

function supabase(call: RestCall): string {
  const { base, kind, name, method, token, filters, order, limit, body } = call;
  const headers = token === '' ? '' : ', {\n  headers: { Authorization: `Bearer ${token}` },\n}';
  const start = [
    `import { PostgrestClient } from '@supabase/postgrest-js';`,
    '',
    `const client = new PostgrestClient(${literal(base)}${headers});`,
  ];
  const steps = kind === 'function' ? [callStep(call)] : [`.from(${literal(name)})`, ...operationSteps(call)];
  const conditions = kind === 'function' && method === 'GET' ? [] : filters.map(filterStep);
  const orders = order === '' ? [] : order.split(',').map(orderStep);
  const most = limit === '' ? [] : [`.limit(${limit})`];
  const returned = kind === 'table' && body !== '' ? ['.select()'] : [];
  const chain = [...steps, ...conditions, ...orders, ...most, ...returned].map((step) => `  ${step}`);
  return [...start, `const { data, error } = await client`, `${chain.join('\n')};`].join('\n');
}

function operationSteps({ method, select, body }: RestCall): string[] {
  const steps: Readonly<Record<string, string>> = {
    POST: `.insert(${compact(body)})`,
    PATCH: `.update(${compact(body)})`,
    DELETE: '.delete()',
  };
  return [steps[method] ?? `.select(${select === '' ? '' : literal(select)})`];
}

function callStep({ name, method, body, filters }: RestCall): string {
  if (method !== 'GET') return `.rpc(${literal(name)}, ${compact(body || '{}')})`;
  const given = Object.fromEntries(filters.map(({ column, value }) => [column, value]));
  return `.rpc(${literal(name)}, ${JSON.stringify(given)}, { get: true })`;
}

function filterStep({ column, operator, value }: Filter): string {
  if (operator === 'in') {
    const values = value
      .replace(/^\(|\)$/g, '')
      .split(',')
      .map((item) => literal(item.trim()));
    return `.in(${literal(column)}, [${values.join(', ')}])`;
  }
  if (operator === 'is')
    return `.is(${literal(column)}, ${/^(null|true|false)$/.test(value) ? value : literal(value)})`;
  if (/^(eq|neq|gt|gte|lt|lte|like|ilike)$/.test(operator))
    return `.${operator}(${literal(column)}, ${literal(value)})`;
  return `.filter(${literal(column)}, ${literal(operator)}, ${literal(value)})`;
}

/** A term of an order: a column, an aggregate or a key of a relation, and the words after it. */
const TERM = /^(.*?)(?:\.(asc|desc))?(?:\.(nullsfirst|nullslast))?$/;

function orderStep(term: string): string {
  const [, column = '', direction, nulls] = TERM.exec(term.trim()) ?? [];
  const options = [
    ...(direction === 'desc' ? ['ascending: false'] : []),
    ...(nulls === undefined ? [] : [`nullsFirst: ${nulls === 'nullsfirst'}`]),
  ];
  return `.order(${literal(column)}${options.length === 0 ? '' : `, { ${options.join(', ')} }`})`;
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
}

/** Puts JSON on one line; other text stays as it is. */
function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
