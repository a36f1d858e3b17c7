import { type DirectiveNode, partOfWord, type Span, type Word } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { type CheckedConfig, matchOf, type Use } from '../../../contract/index.ts';
import type { Pattern, Patterns } from './pattern.ts';

/** A use of a pattern in a configuration. */
export interface RegexUse extends Use {
  readonly pattern: Pattern;
  /** The span of the pattern. */
  readonly at: Span;
  readonly kind: 'location' | 'server_name' | 'if' | 'rewrite' | 'map' | 'other';
  /** The variable that is matched, in lower case without `$`; absent if it is not a single variable. */
  readonly subject?: string | undefined;
  /** `!~` */
  readonly negated?: true;
  /** The line of the `map`. */
  readonly line?: DirectiveNode;
}

/** Directives whose first word may be `~pattern`, with the variable that is matched. */
const TILDE_DIRECTIVES: Readonly<Record<string, string | undefined>> = {
  proxy_redirect: undefined,
  proxy_cookie_domain: undefined,
  proxy_cookie_path: undefined,
  valid_referers: 'http_referer',
};

/** All uses of patterns in a configuration. */
export function regexUses(config: CheckedConfig, patterns: Patterns): readonly RegexUse[] {
  const reader = new Reader(patterns);
  for (const block of config.blocks()) reader.block(block);
  for (const use of config.uses('rewrite')) reader.rewrite(use);
  for (const use of config.uses('map')) reader.map(use);
  for (const use of config.uses('server_name')) reader.tildes('server_name', use, 'host');
  for (const [name, subject] of Object.entries(TILDE_DIRECTIVES))
    for (const use of config.uses(name)) reader.tildes('other', use, subject);
  return reader.found;
}

type UseDetails = Omit<RegexUse, 'pattern' | 'at'>;

class Reader {
  readonly found: RegexUse[] = [];
  readonly #patterns: Patterns;

  constructor(patterns: Patterns) {
    this.#patterns = patterns;
  }

  block(block: BlockView): void {
    const { context, node } = block;
    if (!node) return;
    if (context === 'location') {
      const match = matchOf(block);
      const word = node.args.at(-1);
      if (match?.kind === 'regex' && word)
        this.#keep(
          this.#patterns.read(match.regex, match.caseless),
          endOf(word, match.regex.pattern.length),
          {
            kind: 'location',
            node,
            block,
            subject: 'uri',
          },
        );
    } else if (context === 'server if' || context === 'location if') this.#condition(node, block);
  }

  rewrite({ node, block }: Use): void {
    const [word] = node.args;
    if (word) this.#add(word, false, { kind: 'rewrite', node, block, subject: 'uri' });
  }

  map({ node, block }: Use): void {
    const subject = onlyVariable(node.args[0]);
    for (const line of node.block ?? []) this.#tilde(line.name, { kind: 'map', node, block, line, subject });
  }

  tildes(kind: RegexUse['kind'], { node, block }: Use, subject: string | undefined): void {
    const words =
      kind === 'server_name' || node.name.value === 'valid_referers' ? node.args : node.args.slice(0, 1);
    const isCaseless = kind === 'server_name' || node.name.value === 'valid_referers';
    for (const word of words) this.#tilde(word, { kind, node, block, subject }, isCaseless);
  }

  #condition(node: DirectiveNode, block: BlockView): void {
    const at = node.args.findIndex(({ value }) => /^!?~\*?$/.test(value));
    const operand = node.args[at + 1];
    if (at < 1 || !operand) return;
    const operator = node.args[at]!.value;
    const isLast = operand === node.args.at(-1);
    const word =
      isLast && operand.value.endsWith(')') ? partOfWord(operand, 0, operand.value.length - 1) : operand;
    const subject = /^\(?\$\{?(\w+)\}?$/.exec(node.args[at - 1]!.value)?.[1]?.toLowerCase();
    const negated = operator.startsWith('!') && { negated: true as const };
    this.#add(word, operator.endsWith('*'), { kind: 'if', node, block, subject, ...negated });
  }

  #tilde(word: Word, facts: UseDetails, isCaseless = false): void {
    if (!word.value.startsWith('~') || word.value === '~') return;
    const hasStar = !isCaseless && word.value.startsWith('~*');
    this.#add(partOfWord(word, hasStar ? 2 : 1), hasStar || isCaseless, facts);
  }

  #add(word: Word, caseless: boolean, facts: UseDetails): void {
    this.#keep(this.#patterns.of(word.value, caseless), word, facts);
  }

  #keep(pattern: Pattern | undefined, { span }: Word, facts: UseDetails): void {
    if (pattern) this.found.push({ ...facts, pattern, at: span });
  }
}

/** The last characters of a word, after a modifier in the same word. */
function endOf(word: Word, length: number): Word {
  return partOfWord(word, word.value.length - length);
}

function onlyVariable(word: Word | undefined): string | undefined {
  return /^\$\{?(\w+)\}?$/.exec(word?.value ?? '')?.[1]?.toLowerCase();
}
