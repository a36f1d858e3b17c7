import { resolve } from 'node:path';
import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import { type ComplexValue, readers, type ReadScope } from '../../config/index.ts';
import { type Database, openDatabase } from './database.ts';

/** One variable of a `geoip2` block. */
export interface GeoipVariable {
  /** In lower case. */
  readonly name: string;
  /** A field of the database itself instead of an address. */
  readonly isMetadata: boolean;
  /** The path of the value: names in maps and indexes in lists. */
  readonly path: readonly string[];
  /** The address that is looked up; absent: the client's. */
  readonly source?: ComplexValue;
  /** The value if the database has none. */
  readonly default?: string;
}

/** One `geoip2` block. */
export interface GeoipBlock {
  /** Absolute. */
  readonly file: string;
  /** A changed file is read again after this time; 0: never. */
  readonly reloadMs: number;
  readonly variables: readonly GeoipVariable[];
}

const METADATA_FIELDS = ['build_epoch', 'last_check', 'last_change'];

/** Reads `geoip2 file { auto_reload time; $variable [default=value] [source=$address] [metadata] path ...; }`. */
export function readGeoip2({ args, block = [] }: DirectiveNode, scope: ReadScope): GeoipBlock | undefined {
  const [name] = args as [Word];
  const file = resolve(scope.confDir, name.value);
  if (!canOpen(file, name, scope)) return undefined;
  let reloadMs = 0;
  const variables: GeoipVariable[] = [];
  for (const line of block) {
    if (line.block) scope.report.emerg('unexpected "{"', line.name.span, { rule: 'unexpected-token' });
    else if (line.name.value === 'auto_reload') reloadMs = readInterval(line, scope) ?? 0;
    else if (line.name.value.startsWith('$')) variables.push(...[readVariable(line, scope) ?? []].flat());
    else
      scope.report.emerg(
        `invalid setting "${line.name.value}"`,
        line.name.span,
        'expected auto_reload or a $variable',
      );
  }
  return { file, reloadMs, variables };
}

function canOpen(file: string, { span }: Word, { report }: ReadScope): boolean {
  const opened: Database | string = openDatabase(file);
  if (typeof opened !== 'string') return true;
  report.emerg(`MMDB_open("${file}") failed - ${opened}`, span);
  return false;
}

function readInterval({ name, args }: DirectiveNode, { report }: ReadScope): number | undefined {
  const [word, ...more] = args;
  const ms = word && more.length === 0 ? readers.parseTimeMs(word.value) : undefined;
  if (ms === undefined)
    report.emerg('invalid value of "auto_reload"', (word ?? name).span, 'expected a time such as 5m');
  return ms;
}

function readVariable({ name, args }: DirectiveNode, scope: ReadScope): GeoipVariable | undefined {
  const variable = readers.readVariableName(name, scope);
  const options: { default?: string; source?: ComplexValue } = {};
  const path: Word[] = [];
  for (const word of args) {
    const { value } = word;
    if (path.length === 0 && value.startsWith('default=')) options.default = value.slice('default='.length);
    else if (path.length === 0 && value.startsWith('source=')) options.source = sourceOf(word, scope);
    else path.push(word);
  }
  const isMetadata = path[0]?.value === 'metadata';
  if (isMetadata) path.shift();
  if (path.length === 0) {
    scope.report.emerg(
      `"${name.value}" has no path in the database`,
      name.span,
      'expected one such as country iso_code',
    );
    return undefined;
  }
  if (isMetadata && !isMetadataField(path, scope)) return undefined;
  return variable === undefined
    ? undefined
    : { name: variable, isMetadata, path: path.map(({ value }) => value), ...options };
}

function sourceOf(word: Word, scope: ReadScope): ComplexValue {
  const [, ...rest] = scope.complexValue(word).parts;
  return { parts: rest };
}

function isMetadataField([field, more]: readonly Word[], { report }: ReadScope): boolean {
  if (field && !more && METADATA_FIELDS.includes(field.value)) return true;
  const word = (more ?? field) as Word;
  report.emerg(
    `invalid metadata field "${word.value}"`,
    word.span,
    readers.expectedNames(word, METADATA_FIELDS),
  );
  return false;
}
