import {
  type ConfigTree,
  type DirectiveNode,
  placeOf,
  type Source,
  type Span,
  type Word,
} from '../../grammar/index.ts';
import { isCredential } from '../log/index.ts';
import type { BlockView } from './block-view.ts';
import type { Registry } from './registry.ts';
import type { AnyRow, Context } from './row.ts';

const MASK = '***';
/** Variables, references and schemes: what is left of a value without them is a secret that somebody has written down. */
const NO_SECRETS = /\$(?:\{(?:\w+|env:\w+|file:[^}]*)\}|\w+)|\b(?:basic|bearer|digest|token)\b/gi;
/** What only names where a secret comes from shows nothing; the default of `${env:NAME:-default}` would. */
const REFERENCE = /^["']?\$\{(?:env:\w+|file:[^}]*)\}["']?$/;
/** `scheme://user:password@host`, `password=…` in a list of keywords, `Bearer …`: the secret is the last group. */
const PASSWORDS = [
  /(:\/\/[^/?#\s]*?:)([^/?#\s]*)(?=@)/g,
  /(\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s"'&;]+)/gi,
  /(\b(?:basic|bearer)\s+)([^\s"'$]+)/gi,
];

const MAY_HOLD_PASSWORD = /:\/\/|password|basic|bearer/i;

/** The configuration as `-T` prints it: each file once under its name, secrets masked as the rows say. */
export function dumpConfig(tree: ConfigTree, registry: Registry): string {
  return maskedFiles(tree, registry)
    .map(({ name, text }) => `# configuration file ${name}:\n${text}\n`)
    .join('');
}

/** Each file once, secrets masked as the rows say. */
export function maskedFiles(tree: ConfigTree, registry: Registry): readonly { name: string; text: string }[] {
  const secrets = secretSpans(tree, registry);
  return tree.sources.map((source) => ({
    name: source.name,
    text: maskedText({ source, start: 0, end: source.text.length }, secrets),
  }));
}

/** The stretches of text that hold secrets; the faults of a load must not show them either. */
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

/** Of a directive that gives a name a value, the name may say what the value is: `set $api_key`, `X-Api-Key`. */
function secretsOf({ args }: DirectiveNode, kind: NonNullable<AnyRow['secret']>): readonly Span[] {
  if (kind !== 'named') return args.flatMap((word) => secretsIn(word, kind));
  const [name, ...values] = args;
  const marked = values.flatMap((word) => secretsIn(word, 'password'));
  if (marked.length > 0 || !name || !isCredential(name.value)) return marked;
  return values.filter(isWritten).flatMap((word) => secretsIn(word, 'whole'));
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
  if (!MAY_HOLD_PASSWORD.test(written)) return [];
  return PASSWORDS.flatMap((pattern) =>
    [...written.matchAll(pattern)].flatMap(({ index, 1: before = '', 2: secret = '' }) => {
      const start = span.start + index + before.length;
      return REFERENCE.test(secret) ? [] : { source: span.source, start, end: start + secret.length };
    }),
  );
}

/** A stretch of a source with asterisks where it holds one of these secrets, which are in the order of their sources. */
function maskedText({ source, start: from, end: to }: Span, secrets: readonly Span[]): string {
  let shown = '';
  let position = from;
  for (const { source: of, start, end } of secrets) {
    // One file may be included twice, and then its secrets are found twice.
    if (of !== source || start < position || end > to) continue;
    shown += source.text.slice(position, start) + MASK;
    position = end;
  }
  return shown + source.text.slice(position, to);
}

const INDENT = '    ';

/**
 * The configuration as one text: what `include` brings stands in its place, a comment says from which file, and secrets are
 * masked as the rows say. Words stay as they were written.
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

/** The words of a directive behind its name, as they were written but for secrets. */
function writtenWords({ args }: DirectiveNode, secrets: readonly Span[]): readonly string[] {
  return args.map(({ span }) => maskedText(span, secrets));
}

/** A directive that holds in a block. */
export interface EffectiveDirective {
  readonly directive: string;
  readonly module: string;
  /** As written, secrets masked. */
  readonly words: readonly string[];
  /** `file:line`. */
  readonly place: string;
  /** It stands in a block around this one. */
  readonly inherited: boolean;
  /** What it means, where that is a plain value and no secret: times in milliseconds, sizes in bytes. */
  readonly value?: string | number | boolean;
}

/** A block, what holds in it, and the blocks inside. */
export interface EffectiveBlock {
  readonly context: Context;
  /** Behind the name of the block. */
  readonly words: readonly string[];
  /** `file:line`; '' for the main level. */
  readonly place: string;
  readonly directives: readonly EffectiveDirective[];
  readonly blocks: readonly EffectiveBlock[];
}

/** What holds where, inheritance done. Defaults are left out. */
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
  /** Names of directives that hold secrets. */
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

/** What comes from the environment or a file may be one wherever it is used. */
function isSecret({ name, args }: DirectiveNode, hidden: ReadonlySet<string>): boolean {
  return hidden.has(name.value) || args.some(({ secret }) => secret);
}

function placeText(span: Span): string {
  const { file, line } = placeOf(span);
  return `${file}:${line}`;
}
