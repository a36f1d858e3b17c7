import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import {
  buildConfig,
  checkSyntax,
  type Fault,
  formatFaults,
  minifyConfig,
  parsePayload,
  type Payload,
  piecesOf,
  placeOf,
  printable,
  type Source,
} from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';
import { sourceOf } from '../options.ts';
import { readText } from '../terminal.ts';

/** Tells whether a value has the parts of crossplane's JSON that `gw build` needs. */
function isPayload(value: unknown): value is Payload {
  return isObject(value) && isListOf(value['config'], isFile);
}

function isFile(value: unknown): boolean {
  return isObject(value) && typeof value['file'] === 'string' && isListOf(value['parsed'], isStatement);
}

function isStatement(value: unknown): boolean {
  if (!isObject(value) || typeof value['directive'] !== 'string') return false;
  const { args, block } = value;
  return (
    isListOf(args, (arg) => typeof arg === 'string') && (block === undefined || isListOf(block, isStatement))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

/** The output file and the indentation of JSON. */
export interface JsonOptions {
  readonly out?: string;
  readonly indent?: number;
}

/** The options of `crossplane parse`. */
export interface ParseCommandOptions extends JsonOptions {
  readonly ignore?: string;
  /** False with `--no-catch`: the first fault ends the command. */
  readonly catch: boolean;
  readonly tbOnerror?: boolean;
  readonly combine?: boolean;
  readonly singleFile?: boolean;
  readonly includeComments?: boolean;
  readonly strict?: boolean;
}

/** `gw parse`: prints crossplane's JSON of a configuration. Exit code 1: it does not parse; the JSON has the faults. */
export function parse(file: string, options: ParseCommandOptions): number {
  const payload = parsePayload(file, {
    comments: options.includeComments === true,
    ignore: new Set((options.ignore ?? '').split(',').filter(Boolean)),
    singleFile: options.singleFile === true,
    combine: options.combine === true,
    hints: options.tbOnerror === true,
    faults: options.strict === true ? faultsOf(file) : [],
  });
  const [first] = payload.errors;
  if (!options.catch && first) {
    process.stderr.write(`gw: ${first.error}\n`);
    return 1;
  }
  writeJson(payload, options);
  return payload.status === 'ok' ? 0 : 1;
}

/** Returns the faults that refuse a configuration at load. */
function faultsOf(file: string): readonly Fault[] {
  const { report } = load({ ...sourceOf({ confFile: resolve(file) }), name: file });
  return report.faults.filter(({ severity }) => severity === 'emerg');
}

/** `gw lex`: prints the tokens of a file, with their lines if requested. */
export function lex(file: string, options: JsonOptions & { readonly lineNumbers?: boolean }): number {
  const source = readText(file);
  if (!source || !parses(source)) return 1;
  const pieces = piecesOf(source);
  const lineOf = (start: number): number => placeOf({ source, start, end: start }).line;
  writeJson(
    options.lineNumbers === true
      ? pieces.map(({ value, start }) => [value, lineOf(start)])
      : pieces.map(({ value }) => value),
    options,
  );
  return 0;
}

/** `gw minify`: prints the shortest text of the same meaning. */
export function minify(file: string, { out }: JsonOptions): number {
  const source = readText(file);
  if (!source || !parses(source)) return 1;
  const text = minifyConfig(source);
  if (out === undefined) process.stdout.write(`${text}\n`);
  else writeFileSync(out, text);
  return 0;
}

function parses(source: Source): boolean {
  const report = checkSyntax(source);
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  return !report.failed;
}

/** The options of `crossplane build`. */
export interface BuildCommandOptions {
  readonly dir?: string;
  readonly force?: boolean;
  readonly indent: number;
  readonly tabs?: boolean;
  readonly headers: boolean;
  readonly stdout?: boolean;
  readonly verbose?: boolean;
}

const HEADER = '# Built from JSON by gw build.\n\n';

/** `gw build`: writes the files of a JSON payload. Exit code 1: the JSON is not a payload, or a file exists already. */
export function build(file: string, options: BuildCommandOptions): number {
  const source = readText(file);
  const payload = source && readPayload(source);
  if (!payload) return 1;
  const indent = options.tabs === true ? '\t' : ' '.repeat(options.indent);
  const directory = resolve(options.dir ?? '.');
  for (const { file: name, parsed } of payload.config) {
    const text = (options.headers ? HEADER : '') + buildConfig(parsed, { indent });
    if (options.stdout === true) {
      process.stdout.write(`# ${name}\n${text}`);
      continue;
    }
    const path = isAbsolute(name) ? name : join(directory, name);
    if (!isAbsolute(name) && relative(directory, path).startsWith('..')) {
      process.stderr.write(`gw: "${name}" is outside of ${directory}\n`);
      return 1;
    }
    if (existsSync(path) && options.force !== true) {
      process.stderr.write(`gw: "${path}" exists already; -f replaces it\n`);
      return 1;
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (options.verbose === true) process.stdout.write(`wrote to ${path}\n`);
  }
  return 0;
}

function readPayload({ name, text }: Source): Payload | undefined {
  try {
    const payload: unknown = JSON.parse(text);
    if (isPayload(payload)) return payload;
    process.stderr.write(`gw: "${name}" is no payload of crossplane\n`);
  } catch (error) {
    process.stderr.write(`gw: "${name}" is not JSON: ${printable((error as Error).message)}\n`);
  }
  return undefined;
}

function writeJson(value: unknown, { out, indent }: JsonOptions): void {
  const text = `${JSON.stringify(value, undefined, indent)}\n`;
  if (out === undefined) process.stdout.write(text);
  else writeFileSync(out, text);
}
