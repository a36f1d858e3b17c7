import type { ConfigTree, DirectiveNode, Source, Word } from '../../grammar/index.ts';
import type { Registry } from './registry.ts';

const MASK = '***';
/** A word that only names where its secret comes from shows nothing. */
const REFERENCE = /^["']?\$\{(env|file):[^}]*\}["']?;?$/;

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The configuration as `-T` prints it: each file once under its name, secrets masked as the rows say. */
export function dumpConfig(tree: ConfigTree, registry: Registry): string {
  const cuts = new Map<Source, Cut[]>();
  collectSecrets(tree.directives, registry, cuts);
  return tree.sources
    .map((source) => `# configuration file ${source.name}:\n${masked(source, cuts.get(source) ?? [])}\n`)
    .join('');
}

function collectSecrets(nodes: readonly DirectiveNode[], registry: Registry, cuts: Map<Source, Cut[]>): void {
  const waiting = [...nodes];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    waiting.push(...(node.block ?? []));
    const kind = registry.named(node.name.value).find(({ row }) => row.secret)?.row.secret;
    if (kind === undefined) continue;
    for (const word of node.args) addCut(word, kind, cuts);
  }
}

function addCut(word: Word, kind: 'whole' | 'password', cuts: Map<Source, Cut[]>): void {
  const { source, start, end } = word.span;
  const written = source.text.slice(start, end);
  if (REFERENCE.test(written)) return;
  const text = kind === 'whole' ? MASK : maskPassword(written);
  const list = cuts.get(source) ?? [];
  cuts.set(source, list);
  list.push({ start, end, text });
}

/** `scheme://user:password@host`, `password=…` in a list of keywords. */
function maskPassword(text: string): string {
  return text
    .replace(/(:\/\/[^/?#\s]*?:)[^/?#\s]*@/, `$1${MASK}@`)
    .replace(/\b(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s"'&]+)/gi, `$1${MASK}`);
}

function masked({ text }: Source, cuts: readonly Cut[]): string {
  let shown = '';
  let position = 0;
  for (const cut of [...cuts].sort((a, b) => a.start - b.start)) {
    shown += text.slice(position, cut.start) + cut.text;
    position = cut.end;
  }
  return shown + text.slice(position);
}
