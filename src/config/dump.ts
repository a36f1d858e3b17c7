import { resolve } from 'node:path';
import {
  type ConfigTree,
  type DirectiveNode,
  placeText,
  type Source,
  type Span,
  type Word,
} from '../../grammar/index.ts';
import { isSecretName, MASK, passwordsIn } from '../log/index.ts';
import type { BlockView } from './block-view.ts';
import type { Registry } from './registry.ts';
import type { AnyRow, Context } from './row.ts';

/** Variables, references and scheme names. A value that has anything else contains a secret in clear. */
const NO_SECRETS = /\$(?:\{(?:\w+|env:\w+|file:[^}]*)\}|\w+)|\b(?:basic|bearer|digest|token)\b/gi;
/** A reference without a default, which reveals nothing; the default of `${env:NAME:-default}` would. */
const REFERENCE = /^["']?\$\{(?:env:\w+|file:[^}]*)\}["']?$/;

/** The output of `-T`: each file once, with secrets masked as the rows say. Relative names start from `prefix`. */
export function dumpConfig(tree: ConfigTree, registry: Registry, prefix: string): string {
  return maskedFiles(tree, registry)
    .map(({ name, text }) => `# configuration file ${resolve(prefix, name)}:\n${text}\n`)
    .join('');
}

/** Each file of a configuration once, with secrets masked as the rows say. */
export function maskedFiles(tree: ConfigTree, registry: Registry): readonly { name: string; text: string }[] {
  const secrets = secretSpans(tree, registry);
  return tree.sources.map((source) => ({
    name: source.name,
    text: maskedText({ source, start: 0, end: source.text.length }, secrets),
  }));
}

/** The spans that hold secrets. The faults of a load must not print them either. */
export function secretSpans(tree: ConfigTree, registry: Registry): readonly Span[] {
  const found: Span[] = [];
  const waiting: DirectiveNode[] = [...tree.directives];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    waiting.push(...(node.block ?? []));
    const kind = registry.named(node.name.value).find(({ row }) => row.secret)?.row.secret;
    if (kind !== undefined) found.push(...secretsOf(node, kind));
  }
  return found.sort((a, b) => a.start - b.start);
}

/**
 * The secrets of one directive. If it gives a name a value, the name may tell that the value is secret: `set $api_key`,
 * `X-Api-Key`.
 */
function secretsOf({ args }: DirectiveNode, kind: NonNullable<AnyRow['secret']>): readonly Span[] {
  if (kind === 'whole' || kind === 'password') return args.flatMap((word) => secretsIn(word, kind));
  const [name, ...values] = args;
  if (kind === 'value') {
    const hidden = values.filter(({ value }) => !isPlainValue(name?.value ?? '', value));
    return hidden.flatMap((word) => secretsIn(word, 'whole'));
  }
  const marked = values.flatMap((word) => secretsIn(word, 'password'));
  if (marked.length > 0 || !name || !isSecretName(name.value)) return marked;
  return values.filter(isWritten).flatMap((word) => secretsIn(word, 'whole'));
}

const FLAG = /^(?:true|false|on|off|yes|no)$/i;
const NUMBER = /^[+-]?\d{1,10}(?:\.\d{1,10})?$/;
/** The last words of names of measured things. Under any other name, a number may be a PIN or a password. */
const MEASURED =
  /(?:^|[^a-z])(?:age|count|days|depth|exp|expiry|hours|level|limit|max|min|minutes|port|rows|seconds|size|timeout|ttl|version)$/;

/** True for a value that cannot be a secret: a flag, or a number under a name of something measured. */
export function isPlainValue(name: string, value: string): boolean {
  if (isSecretName(name)) return false;
  const words = name.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toLowerCase();
  return FLAG.test(value) || (NUMBER.test(value) && MEASURED.test(words));
}

function isWritten({ span }: Word): boolean {
  return /\w/.test(span.source.text.slice(span.start, span.end).replace(NO_SECRETS, ''));
}

function secretsIn({ span, quote }: Word, kind: 'whole' | 'password'): readonly Span[] {
  const written = span.source.text.slice(span.start, span.end);
  if (REFERENCE.test(written)) return [];
  if (kind === 'whole') {
    const inside = quote.length;
    return [{ source: span.source, start: span.start + inside, end: span.end - inside }];
  }
  return passwordsIn(written).flatMap(({ start, end }) =>
    REFERENCE.test(written.slice(start, end))
      ? []
      : { source: span.source, start: span.start + start, end: span.start + end },
  );
}

/** The text of a span with these secrets masked. The secrets are sorted by source and offset. */
function maskedText({ source, start: from, end: to }: Span, secrets: readonly Span[]): string {
  let shown = '';
  let position = from;
  for (const { source: of, start, end } of secrets) {
    // The secrets of a file that is included twice are listed twice.
    if (of !== source || start < position || end > to) continue;
    shown += source.text.slice(position, start) + MASK;
    position = end;
  }
  return shown + source.text.slice(position, to);
}

const INDENT = '    ';

/**
 * The configuration as one text: included directives replace each `include`, a comment names their file, and secrets
 * are masked. Words stay as written.
 */
export function combinedText(tree: ConfigTree, registry: Registry): string {
  const secrets = secretSpans(tree, registry);
  const lines: string[] = [];
  let file: Source | undefined;
  const writeAll = (nodes: readonly DirectiveNode[], indent: string): void => {
    for (const node of nodes) {
      const { source } = node.name.span;
      if (source !== file) lines.push(`${indent}# ${source.name}`);
      file = source;
      write(node, indent);
    }
  };
  const write = ({ name, args, block, span }: DirectiveNode, indent: string): void => {
    const words = [name, ...args].map((word) => maskedText(word.span, secrets)).join(' ');
    if (!block) return void lines.push(`${indent}${words};`);
    if (block.length === 0) return void lines.push(`${indent}${words} {}`);
    lines.push(`${indent}${words} {`);
    writeAll(block, indent + INDENT);
    file = span.source;
    lines.push(`${indent}}`);
  };
  writeAll(tree.directives, '');
  return lines.map((line) => `${line}\n`).join('');
}

/** The words after a directive's name as written, with secrets masked. */
function writtenWords({ args }: DirectiveNode, secrets: readonly Span[]): readonly string[] {
  return args.map(({ span }) => maskedText(span, secrets));
}

/** A directive that holds in a block, its own or inherited. */
interface EffectiveDirective {
  readonly directive: string;
  readonly module: string;
  /** The words as written, with secrets masked. */
  readonly words: readonly string[];
  /** `file:line`. */
  readonly place: string;
  /** True if an enclosing block has it. */
  readonly inherited: boolean;
  /** The value, if it is plain and not secret: times in milliseconds, sizes in bytes. */
  readonly value?: string | number | boolean;
}

/** A block with the directives that hold in it and its nested blocks. */
export interface EffectiveBlock {
  readonly context: Context;
  /** The words after the name of the block. */
  readonly words: readonly string[];
  /** `file:line`; '' for the main block. */
  readonly place: string;
  readonly directives: readonly EffectiveDirective[];
  readonly blocks: readonly EffectiveBlock[];
}

/** The directives that hold in each block, with inheritance applied. Defaults are left out. */
export function effectiveBlock(main: BlockView, tree: ConfigTree, registry: Registry): EffectiveBlock {
  const secrets = secretSpans(tree, registry);
  const hidden = new Set(registry.entries.flatMap(({ name, row }) => (row.secret ? [name] : [])));
  const blockOf = (view: BlockView): EffectiveBlock => ({
    context: view.context,
    words: view.node ? writtenWords(view.node, secrets) : [],
    place: view.node ? placeText(view.node.name.span) : '',
    directives: registry.owners.flatMap((module) => directivesOf(view, module, { secrets, hidden })),
    blocks: view.inner.map(blockOf),
  });
  return blockOf(main);
}

interface SecretNames {
  readonly secrets: readonly Span[];
  /** Names of directives whose values are secret. */
  readonly hidden: ReadonlySet<string>;
}

function directivesOf(
  view: BlockView,
  module: string,
  { secrets, hidden }: SecretNames,
): readonly EffectiveDirective[] {
  const own = new Set(view.own());
  return [...view.from(module).values()].flatMap(({ nodes, value }) =>
    nodes.map((node) => {
      const isShown = nodes.length === 1 && isPlain(value) && !isSecret(node, hidden);
      return {
        directive: node.name.value,
        module,
        words: writtenWords(node, secrets),
        place: placeText(node.name.span),
        inherited: !own.has(node),
        ...(isShown && { value }),
      };
    }),
  );
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** True for directives with secrets. Any value from the environment or a file may be one. */
function isSecret({ name, args }: DirectiveNode, hidden: ReadonlySet<string>): boolean {
  return hidden.has(name.value) || args.some(({ secret }) => secret);
}
