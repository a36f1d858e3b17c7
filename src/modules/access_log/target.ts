import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, ComplexValue, ReadScope } from '../../config/index.ts';
import { parseSyslog } from '../../log/index.ts';
import type { FileTarget, LogTarget, NamedTarget, ServerTarget } from './config.ts';

const SYNTAX =
  'off | path | syslog:server=address[,parameter=value] [format [buffer=size] [gzip[=level]] [flush=time] [if=condition]]';
const DEFAULT_BUFFER_BYTES = 65_536;
const DEFAULT_GZIP_LEVEL = 1;

/** What may follow path and format. */
interface Parameters {
  readonly condition?: ComplexValue;
  readonly bufferBytes?: number;
  readonly flushMs?: number;
  readonly gzipLevel?: number;
}

/** `access_log path [format [buffer=size] [gzip[=level]] [flush=time] [if=condition]]` and its other forms. */
export const accessLog: ArgReader<LogTarget> = readers.words(
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
    const parameters = readParameters(hasFormat ? rest.slice(1) : rest, scope);
    if (!parameters) return undefined;
    const { condition } = parameters;
    const lines = { format, ...(condition && { condition }) };
    if (path.value.startsWith('syslog:')) return serverTarget(path, { lines, parameters }, scope);
    if (path.value.includes('$')) return namedTarget(path, { lines, parameters }, scope);
    return fileTarget(path, { lines, parameters }, scope);
  },
);

interface Read {
  readonly lines: Pick<FileTarget, 'format' | 'condition'>;
  readonly parameters: Parameters;
}

function serverTarget(
  path: Word,
  { lines, parameters: { bufferBytes, flushMs } }: Read,
  scope: ReadScope,
): ServerTarget | undefined {
  const syslog = parseSyslog(path.value);
  if (typeof syslog === 'string') return refused(scope, path, syslog);
  if (bufferBytes !== undefined) return refused(scope, path, 'logs to syslog cannot be buffered');
  return flushMs === undefined ? { ...lines, syslog } : withoutBuffer(path, scope);
}

/** What stands before the first variable's own name is the directory that no value leaves. */
function namedTarget(
  path: Word,
  { lines, parameters: { bufferBytes, flushMs } }: Read,
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
  { lines, parameters: { bufferBytes = 0, flushMs, gzipLevel } }: Read,
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

/** The value behind `name=` in one word. */
function dropPrefix({ parts: [first, ...rest] }: ComplexValue, prefix: string): ComplexValue {
  const text = typeof first === 'string' ? first.slice(prefix.length) : '';
  return { parts: text === '' ? rest : [text, ...rest] };
}

function refused({ report }: ReadScope, { span }: Word, message: string): undefined {
  report.emerg(message, span);
}
