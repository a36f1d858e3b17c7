import type { ConfigTree, DirectiveNode, Span, Word } from '../../grammar/index.ts';
import { isCredential } from '../log/index.ts';
import type { Registry } from './registry.ts';
import type { AnyRow } from './row.ts';

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
export function maskedText({ source, start: from, end: to }: Span, secrets: readonly Span[]): string {
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
