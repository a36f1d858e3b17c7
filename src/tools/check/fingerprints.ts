import { createHash } from 'node:crypto';
import type { ConfigTree, DirectiveNode, Source, Span, Word } from '../../../grammar/index.ts';
import type { Finding } from './finding.ts';

/** A directive with the heads of its enclosing blocks. */
interface PlacedDirective {
  readonly node: DirectiveNode;
  readonly outer: PlacedDirective | undefined;
}

const HASH_CHARACTERS = 16;

/**
 * Fingerprints that identify findings when their lines move: the rule, the text of the directive and the heads of the
 * enclosing blocks, without blanks and comments. The second finding with the same parts ends with `:2`. Secrets are
 * left out, because the digest of a short one could be reversed.
 */
export function fingerprintsOf(
  findings: readonly Finding[],
  { tree, hidden }: { readonly tree: ConfigTree | undefined; readonly hidden: readonly Span[] },
): ReadonlyMap<Finding, string> {
  const placed = new Map<Source, readonly PlacedDirective[]>();
  if (tree) for (const [source, nodes] of nodesBySource(tree)) placed.set(source, nodes);
  const counts = new Map<string, number>();
  return new Map(
    findings.map((finding) => {
      const about = finding.span ? textAt(finding.span, { placed, hidden }) : finding.message;
      const hash = digest(`${finding.rule}\n${about}`);
      const count = (counts.get(hash) ?? 0) + 1;
      counts.set(hash, count);
      return [finding, `${hash}:${count}`];
    }),
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS);
}

interface FingerprintInput {
  readonly placed: ReadonlyMap<Source, readonly PlacedDirective[]>;
  readonly hidden: readonly Span[];
}

function textAt(span: Span, { placed, hidden }: FingerprintInput): string {
  const found = innermost(placed.get(span.source) ?? [], span.start);
  if (!found) return lineAt(span);
  const heads: string[] = [];
  for (let each: PlacedDirective | undefined = found; each; each = each.outer)
    heads.push(headOf(each.node, hidden));
  return heads.reverse().join('\n');
}

/** The text of the line, if there is no tree. */
function lineAt({ source: { text }, start }: Span): string {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  return (/^[^\n]*/.exec(text.slice(from))?.[0] ?? '').trim().replace(/\s+/g, ' ');
}

function innermost(nodes: readonly PlacedDirective[], at: number): PlacedDirective | undefined {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((nodes[middle] as PlacedDirective).node.span.start <= at) low = middle + 1;
    else high = middle;
  }
  const source = nodes[0]?.node.span.source;
  for (let each = nodes[low - 1]; each; each = each.outer) {
    const { span } = each.node;
    if (span.source === source && at < span.end) return each;
  }
  return undefined;
}

function headOf({ name, args }: DirectiveNode, hidden: readonly Span[]): string {
  return [name, ...args].map((word) => written(word, hidden)).join(' ');
}

function written({ span, value, secret }: Word, hidden: readonly Span[]): string {
  const isHidden = hidden.some(
    ({ source, start, end }) => source === span.source && start < span.end && end > span.start,
  );
  if (isHidden) return '***';
  return secret ? span.source.text.slice(span.start, span.end) : value;
}

/** All directives by source, sorted by offset. */
function nodesBySource({ directives }: ConfigTree): ReadonlyMap<Source, readonly PlacedDirective[]> {
  const found = new Map<Source, PlacedDirective[]>();
  const waiting: PlacedDirective[] = directives.map((node) => ({ node, outer: undefined }));
  for (let placed = waiting.pop(); placed; placed = waiting.pop()) {
    const { node } = placed;
    const known = found.get(node.span.source);
    if (known) known.push(placed);
    else found.set(node.span.source, [placed]);
    for (const inner of node.block ?? []) waiting.push({ node: inner, outer: placed });
  }
  for (const nodes of found.values()) nodes.sort((a, b) => a.node.span.start - b.node.span.start);
  return found;
}
