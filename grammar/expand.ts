import { resolve } from 'node:path';
import { systemReason } from '../src/system/index.ts';
import type { Report } from './diagnostic.ts';
import { decodeText, errorCode, MAX_SECRET_BYTES, type ReadFile } from './files.ts';
import type { Span } from './source.ts';
import { type Edit, spanInWord, type Word } from './tree.ts';

/** The environment, the files and the report for expanding `${env:…}` and `${file:…}`. */
export interface Expansion {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory that a relative `${file:…}` starts from. */
  readonly directory: string;
  readonly readFile: ReadFile;
  readonly report: Report;
}

interface Refusal {
  readonly rule?: string;
  readonly message: string;
  readonly hint?: string;
}

const REFERENCE = /\$\{(env|file):([^}]*)(\}?)/g;
const ENV = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  EFBIG: `larger than ${MAX_SECRET_BYTES / 1024} KB`,
};

/**
 * Returns the word with `${env:NAME}`, `${env:NAME:-default}` and `${file:/path}` replaced. As in a shell, the default
 * also replaces an empty variable. A reference without a value is reported and becomes empty.
 */
export function expandWord(word: Word, from: Expansion): Word {
  if (!word.value.includes('${env:') && !word.value.includes('${file:')) return word;
  const literals: [number, number][] = [];
  const edits: Edit[] = [];
  let value = '';
  let copied = 0;
  const faultsBefore = from.report.faults.length;
  // The text between two references keeps its edits, shifted by the length that earlier references have added.
  const copyTo = (end: number): void => {
    const shift = value.length - copied;
    for (const edit of word.edits ?? []) {
      if (edit.value[0] < copied || edit.value[1] > end) continue;
      edits.push({ value: [edit.value[0] + shift, edit.value[1] + shift], source: edit.source });
    }
    value += word.value.slice(copied, end);
  };
  for (const match of word.value.matchAll(REFERENCE)) {
    const end = match.index + match[0].length;
    const span = spanInWord(word, match.index, end);
    copyTo(match.index);
    const start = value.length;
    value += valueOf(match, span, from);
    literals.push([start, value.length]);
    edits.push({ value: [start, value.length], source: [span.start, span.end] });
    copied = end;
  }
  copyTo(word.value.length);
  // Later faults of a word that lacks a part of its value are consequences of this one.
  if (from.report.faults.length > faultsBefore) from.report.explain(word.span);
  return { ...word, value, secret: true, literals, edits };
}

function valueOf([text, kind, subject = '', end]: RegExpExecArray, span: Span, from: Expansion): string {
  const found =
    end === '' ? unclosed(text) : kind === 'env' ? envValue(subject, from) : fileValue(subject, from);
  if (typeof found === 'string') return found;
  const { message, ...details } = found;
  from.report.emerg(message, span, details);
  return '';
}

function unclosed(text: string): Refusal {
  return {
    message: `the closing bracket in "${text}" is missing`,
    hint: 'quote a word that contains spaces',
  };
}

function envValue(subject: string, { env }: Expansion): string | Refusal {
  const match = ENV.exec(subject);
  if (!match) {
    const hint = 'expected "${env:NAME}" or "${env:NAME:-default}"';
    return { rule: 'env-missing', message: `invalid environment variable name "${subject}"`, hint };
  }
  const [, name = '', fallback] = match;
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined) return value || fallback;
  const message = `environment variable "${name}" is not set and has no default`;
  return value ?? { rule: 'env-missing', message };
}

function fileValue(path: string, { directory, readFile }: Expansion): string | Refusal {
  const file = resolve(directory, path);
  try {
    const bytes = readFile(file, MAX_SECRET_BYTES);
    return decodeText(bytes).text.replace(/\r?\n$/, '');
  } catch (error) {
    return {
      rule: 'secret-file',
      message: `"\${file:${path}}" cannot be read: ${REASONS[errorCode(error)] ?? systemReason(error)}`,
      ...(file !== path && { hint: `it stands for "${file}"` }),
    };
  }
}
