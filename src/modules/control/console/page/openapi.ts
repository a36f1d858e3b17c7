/** A table, view or function of a REST location. */
export interface Resource {
  readonly name: string;
  readonly kind: 'table' | 'function';
  /** Path below the location, with its slash. */
  readonly path: string;
  readonly summary: string;
  readonly methods: readonly string[];
  /** Columns of a table, or parameters of a function. */
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
  readonly isRequired: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'post', 'patch', 'delete'];

/** Returns the resources that an OpenAPI document describes, tables before functions. */
export function resourcesOf(document: unknown): readonly Resource[] {
  const paths = Object.entries(member(document, 'paths') ?? {}).filter(([path]) => path !== '/');
  const resources = paths.map(([path, item]) => resourceOf(path, { item, document }));
  return resources.toSorted((a, b) =>
    a.kind === b.kind ? (a.name < b.name ? -1 : 1) : a.kind === 'table' ? -1 : 1,
  );
}

function resourceOf(path: string, { item, document }: { item: unknown; document: unknown }): Resource {
  const operations = METHODS.map((method) => member(item, method)).filter((found) => found !== undefined);
  const isFunction = path.startsWith('/rpc/');
  const schemas = operations.flatMap((operation) => [
    ...(isFunction ? [] : [responseSchema(operation, document)]),
    sent(operation, document),
  ]);
  const schema = schemas.find((candidate) => candidate && member(candidate, 'properties'));
  const [summary = ''] = operations
    .map((operation) => operation['summary'])
    .filter((text) => typeof text === 'string');
  return {
    name: decodeURIComponent(path.replace(/^\/(rpc\/)?/, '')),
    kind: isFunction ? 'function' : 'table',
    path,
    summary,
    methods: METHODS.filter((method) => member(item, method)).map((method) => method.toUpperCase()),
    fields: schema ? fieldsOf(schema, document) : [],
  };
}

/** Returns the schema of a row in the response of an operation. */
function responseSchema(operation: Json, document: unknown): Json | undefined {
  const response = resolve(member(member(operation, 'responses'), '200'), document);
  const schema = resolve(member(jsonContent(response), 'schema'), document);
  return resolve(member(schema, 'items'), document) ?? schema;
}

/** Returns the schema of an operation's request body. */
function sent(operation: Json, document: unknown): Json | undefined {
  const body = resolve(member(operation, 'requestBody'), document);
  const schema = resolve(member(jsonContent(body), 'schema'), document);
  const [one] = (schema?.['oneOf'] as readonly unknown[] | undefined) ?? [];
  return resolve(one, document) ?? schema;
}

function jsonContent(holder: unknown): Json | undefined {
  return member(member(holder, 'content'), 'application/json');
}

function fieldsOf(schema: Json, document: unknown): readonly Field[] {
  const keys = (schema['x-primary-key'] ?? []) as readonly string[];
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.entries(member(schema, 'properties') ?? {}).map(([name, property]) => ({
    name,
    type: typeOf(resolve(property, document)),
    isKey: keys.includes(name),
    isRequired: required.includes(name),
  }));
}

function typeOf(schema: Json | undefined): string {
  const { format, type, anyOf } = schema ?? {};
  if (typeof format === 'string') return format;
  const [first] = (anyOf as readonly unknown[] | undefined) ?? [];
  if (first) return typeOf(first as Json);
  const types = [type].flat().filter((name) => typeof name === 'string' && name !== 'null');
  return types.length > 0 ? types.join(' or ') : 'any';
}

function member(holder: unknown, name: string): Json | undefined {
  const found = (holder as Json | undefined)?.[name];
  return typeof found === 'object' && found !== null ? (found as Json) : undefined;
}

/** Follows a `$ref` within the document (RFC 6901), repeatedly if necessary. */
function resolve(node: unknown, document: unknown): Json | undefined {
  let found = node as Json | undefined;
  for (let hops = 0; typeof found?.['$ref'] === 'string' && hops < 8; hops++) {
    const names = found['$ref'].replace(/^#\//, '').split('/');
    const plain = names.map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'));
    found = plain.reduce<Json | undefined>((holder, name) => member(holder, name), document as Json);
  }
  return found;
}
