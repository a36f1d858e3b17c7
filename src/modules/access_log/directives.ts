import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  defines,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import { type NamedLogRules, parseSyslog, type SyslogTarget } from '../../log/index.ts';
import { isJsonFormat, KEPT_VARIABLES } from './json-format.ts';

/** The escaping of variables in a format. */
export type Escape = 'default' | 'json' | 'none';

/** `log_format name [escape=…] string ...`. */
export interface LogFormat {
  readonly name: string;
  readonly escape: Escape;
  readonly value: ComplexValue;
}

/** The condition and format of the lines of one log. */
interface Lines {
  readonly format: string;
  readonly condition?: ComplexValue;
}

/** A log file whose path is known at load time. */
export interface FileTarget extends Lines {
  readonly path: string;
  /** 0: each line is written at once. */
  readonly bufferBytes: number;
  readonly flushMs?: number;
  readonly gzipLevel?: number;
}

/** A log file whose path depends on the request: `name` follows the directory. */
export interface NamedTarget extends Lines {
  /** Absolute; the value of a variable cannot leave it. */
  readonly directory: string;
  readonly name: ComplexValue;
}

/** A syslog server. */
export interface ServerTarget extends Lines {
  readonly syslog: SyslogTarget;
}

export type LogTarget = { readonly off: true } | FileTarget | NamedTarget | ServerTarget;

/** The access logs of one location. */
export interface AccessLogConfig {
  readonly formats?: readonly LogFormat[];
  readonly logs?: readonly LogTarget[];
  readonly fileCache: NamedLogRules;
}

const SYNTAX =
  'off | path | syslog:server=address[,parameter=value] [format [buffer=size] [gzip[=level]] [flush=time] [if=condition]]';
const DEFAULT_BUFFER_BYTES = 65_536;
const DEFAULT_GZIP_LEVEL = 1;

/** The parameters after path and format. */
interface Parameters {
  readonly condition?: ComplexValue;
  readonly bufferBytes?: number;
  readonly flushMs?: number;
  readonly gzipLevel?: number;
}

/** Reads `access_log path [format [buffer=size] [gzip[=level]] [flush=time] [if=condition]]` and its other forms. */
const accessLog: ArgReader<LogTarget> = readers.words(
  { syntax: SYNTAX, min: 1, max: Infinity },
  (words, scope) => {
    const [path, ...rest] = words as [Word, ...Word[]];
    const [first] = rest;
    if (path.value === 'off') {
      if (!first) return { off: true };
      return refused(scope, first, `invalid parameter "${first.value}"`);
    }
    const hasFormat = first !== undefined && !/^(gzip$|\w+=)/.test(first.value);
    const format = hasFormat ? first.value : 'combined';
    if (first && isJsonFormat(format))
      for (const name of KEPT_VARIABLES[format])
        scope.complexValue({ ...first, value: `$${name}`, literals: [] });
    const parameters = readParameters(hasFormat ? rest.slice(1) : rest, scope);
    if (!parameters) return undefined;
    const { condition } = parameters;
    const lines = { format, ...(condition && { condition }) };
    if (path.value.startsWith('syslog:')) return serverTarget(path, { lines, parameters }, scope);
    if (path.value.includes('$')) return namedTarget(path, { lines, parameters }, scope);
    return fileTarget(path, { lines, parameters }, scope);
  },
);

interface ParsedTarget {
  readonly lines: Pick<FileTarget, 'format' | 'condition'>;
  readonly parameters: Parameters;
}

function serverTarget(
  path: Word,
  { lines, parameters: { bufferBytes, flushMs } }: ParsedTarget,
  scope: ReadScope,
): ServerTarget | undefined {
  const syslog = parseSyslog(path.value);
  if (typeof syslog === 'string') return refused(scope, path, syslog);
  if (bufferBytes !== undefined) return refused(scope, path, 'logs to syslog cannot be buffered');
  return flushMs === undefined ? { ...lines, syslog } : withoutBuffer(path, scope);
}

/** Splits a path with variables after the last directory without one, which no value can leave. */
function namedTarget(
  path: Word,
  { lines, parameters: { bufferBytes, flushMs } }: ParsedTarget,
  scope: ReadScope,
): NamedTarget | undefined {
  const value = scope.complexValue(path);
  if (value.parts.every((part) => typeof part === 'string')) return undefined;
  if (bufferBytes !== undefined) return refused(scope, path, 'buffered logs cannot have variables in name');
  if (flushMs !== undefined) return withoutBuffer(path, scope);
  const [first, ...others] = value.parts;
  const literal = typeof first === 'string' ? first : '';
  const end = literal.lastIndexOf('/') + 1;
  const rest = typeof first === 'string' ? [literal.slice(end), ...others] : value.parts;
  return {
    ...lines,
    directory: resolve(scope.prefix, literal.slice(0, end)),
    name: { parts: rest.filter((part) => part !== '') },
  };
}

function fileTarget(
  path: Word,
  { lines, parameters: { bufferBytes = 0, flushMs, gzipLevel } }: ParsedTarget,
  scope: ReadScope,
): FileTarget | undefined {
  if (flushMs !== undefined && bufferBytes === 0) return withoutBuffer(path, scope);
  return {
    ...lines,
    path: path.value,
    bufferBytes,
    ...(flushMs !== undefined && { flushMs }),
    ...(gzipLevel !== undefined && { gzipLevel }),
  };
}

function withoutBuffer({ value, span }: Word, { report }: ReadScope): undefined {
  report.emerg(`no buffer is defined for access_log "${value}"`, span);
}

function readParameters(words: readonly Word[], scope: ReadScope): Parameters | undefined {
  let read: Parameters | undefined = {};
  for (const word of words) read = read && readParameter(word, read, scope);
  return read;
}

function readParameter(word: Word, read: Parameters, scope: ReadScope): Parameters | undefined {
  const [, name, text = ''] = /^(buffer|flush|gzip|if)(?:=(.*))?$/s.exec(word.value) ?? [];
  if (name === 'gzip') return readGzip(word, { read, text }, scope);
  if (name === undefined || !word.value.includes('='))
    return refused(scope, word, `invalid parameter "${word.value}"`);
  if (name === 'if') return { ...read, condition: dropPrefix(scope.complexValue(word), 'if=') };
  const value = name === 'buffer' ? readers.parseSize(text) : readers.parseTimeMs(text);
  if (value === undefined || value === 0)
    return refused(scope, word, `invalid ${name === 'buffer' ? 'buffer size' : 'flush time'} "${text}"`);
  return { ...read, [name === 'buffer' ? 'bufferBytes' : 'flushMs']: value };
}

function readGzip(
  word: Word,
  { read, text }: { read: Parameters; text: string },
  scope: ReadScope,
): Parameters | undefined {
  if (word.value.includes('=') && !/^[1-9]$/.test(text))
    return refused(scope, word, `invalid compression level "${text}"`);
  const bufferBytes = read.bufferBytes ?? DEFAULT_BUFFER_BYTES;
  return { ...read, bufferBytes, gzipLevel: text === '' ? DEFAULT_GZIP_LEVEL : Number(text) };
}

/** Removes `name=` from a value. */
function dropPrefix({ parts: [first, ...rest] }: ComplexValue, prefix: string): ComplexValue {
  const text = typeof first === 'string' ? first.slice(prefix.length) : '';
  return { parts: text === '' ? rest : [text, ...rest] };
}

function refused({ report }: ReadScope, { span }: Word, message: string): undefined {
  report.emerg(message, span);
}

const logFormat: ArgReader<LogFormat> = readers.words(
  { syntax: 'name [escape=default | json | none] string ...', min: 2, max: Infinity },
  ([name, ...rest], scope) => {
    const escapeWord = rest[0]?.value.startsWith('escape=') ? rest.shift() : undefined;
    const escape = escapeWord?.value.slice(7) ?? 'default';
    if (escape !== 'default' && escape !== 'json' && escape !== 'none') {
      scope.report.emerg(
        `unknown log format escaping "${escape}"`,
        escapeWord?.span,
        'expected default, json or none',
      );
      return undefined;
    }
    const parts = rest.flatMap((word) => scope.complexValue(word).parts);
    return { name: (name as Word).value, escape, value: { parts } };
  },
);

const NO_CACHE: NamedLogRules = { max: 0, inactiveMs: 10_000, minUses: 1, validMs: 60_000 };

const CACHE_PARAMETERS: Readonly<Record<string, readonly [keyof NamedLogRules, 'count' | 'time']>> = {
  max: ['max', 'count'],
  min_uses: ['minUses', 'count'],
  inactive: ['inactiveMs', 'time'],
  valid: ['validMs', 'time'],
};

const fileCache: ArgReader<NamedLogRules> = readers.words(
  { syntax: 'off | max=number [inactive=time] [min_uses=number] [valid=time]', min: 1, max: 4 },
  (words, { directive, span, report }) => {
    let rules = NO_CACHE;
    if (words.length === 1 && words[0]?.value === 'off') return rules;
    for (const word of words) {
      const [, name = '', text = ''] = /^(\w+)=(.*)$/s.exec(word.value) ?? [];
      const [field, kind] = CACHE_PARAMETERS[name] ?? [];
      const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
      const value = kind === 'time' ? readers.parseTimeMs(text) : count;
      if (!field || (value === undefined && field !== 'max')) {
        report.emerg(`invalid "${directive}" parameter "${word.value}"`, word.span);
        return undefined;
      }
      rules = { ...rules, [field]: value ?? 0 };
    }
    if (rules.max > 0) return rules;
    report.emerg(`"${directive}" must have "max" parameter`, span);
    return undefined;
  },
);

/** nginx's log module. */
export const directives = directivesFor<AccessLogConfig>()({
  log_format: {
    contexts: ['http'],
    args: logFormat,
    into: 'formats',
    repeat: 'append',
    defaultText: 'combined "..."',
    summary: 'Defines a format for access logs.',
    roles: defines('log format'),
    tells: true,
    source: 'nginx ngx_http_log_module#log_format',
  },
  access_log: {
    contexts: ['http', 'server', 'location', 'location if', 'limit_except'],
    args: accessLog,
    into: 'logs',
    repeat: 'append',
    defaultText: 'logs/access.log combined where that directory exists, else off',
    summary:
      'Where requests are logged, in which format, and under which condition. `json` and `json_full` are predefined formats, whose lines are objects of JSON. Variables in a path cannot lead out of the directory that precedes them.',
    roles: [...pathFrom('prefix'), ...uses('log format', { word: 1 })],
    tells: true,
    source: 'nginx ngx_http_log_module#access_log',
  },
  open_log_file_cache: {
    contexts: ['http', 'server', 'location'],
    args: fileCache,
    into: 'fileCache',
    default: NO_CACHE,
    defaultText: 'off',
    summary: 'Which log files with variables in their path are kept open.',
    source: 'nginx ngx_http_log_module#open_log_file_cache',
  },
});
