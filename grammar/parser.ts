import { EmbeddedActionsParser, type IToken, Lexer } from 'chevrotain';
import { Report } from './diagnostic.ts';
import type { Source } from './source.ts';
import { BlockEnd, BlockStart, LuaBlock, Semicolon, tokenTypes, WordToken } from './tokens.ts';
import { type ParseInput, startOfNext, TreeBuilder } from './tree-builder.ts';
import type { DirectiveNode } from './tree.ts';

/** The directives of one source; `include` is not yet resolved. */
interface Parsed {
  readonly directives: readonly DirectiveNode[];
  /** False if the braces do not match: a directive may then be in a block that it was not written for. */
  readonly balanced: boolean;
}

/**
 * One method per production. Every sequence of tokens is accepted and the builder reports the faulty ones, so one
 * fault never hides the next:
 *
 *     config    = { statement | "}" (fault) }
 *     statement = directive | ";" (fault) | block (fault)
 *     directive = word { word } ( ";" | block | luaBlock | (fault) )
 *     block     = "{" { statement } [ "}" ]
 */
class ConfigParser extends EmbeddedActionsParser {
  #builder!: TreeBuilder;

  constructor() {
    super(tokenTypes, { maxLookahead: 1, skipValidations: true });
    this.performSelfAnalysis();
  }

  parse(tokens: IToken[], builder: TreeBuilder): DirectiveNode[] {
    this.#builder = builder;
    this.input = tokens;
    const directives = this.config();
    // Otherwise the tokens would stay in memory until the next text is parsed.
    this.input = [];
    return directives;
  }

  readonly config = this.RULE('config', () => {
    const into: DirectiveNode[] = [];
    this.MANY(() => {
      this.OR([
        { ALT: () => this.SUBRULE(this.statement, { ARGS: [into] }) },
        {
          ALT: () => {
            const end = this.CONSUME(BlockEnd);
            this.ACTION(() => this.#builder.strayBlockEnd(end));
          },
        },
      ]);
    });
    return into;
  });

  readonly statement = this.RULE('statement', (into: DirectiveNode[]) => {
    this.OR([
      { ALT: () => this.SUBRULE(this.directive, { ARGS: [into] }) },
      {
        ALT: () => {
          const end = this.CONSUME(Semicolon);
          this.ACTION(() => this.#builder.straySemicolon(end));
        },
      },
      { ALT: () => this.SUBRULE(this.block, { ARGS: [[], []] }) },
    ]);
  });

  readonly directive = this.RULE('directive', (into: DirectiveNode[]) => {
    const words: IToken[] = [];
    this.AT_LEAST_ONE(() => words.push(this.CONSUME(WordToken)));
    this.OR([
      {
        ALT: () => {
          const end = this.CONSUME(Semicolon);
          this.ACTION(() => this.#builder.simple(words, end, into));
        },
      },
      { ALT: () => this.SUBRULE(this.block, { ARGS: [into, words] }) },
      {
        ALT: () => {
          const lua = this.CONSUME(LuaBlock);
          this.ACTION(() => this.#builder.luaBlock(words, lua, into));
        },
      },
      { ALT: () => this.ACTION(() => this.#builder.unterminated(words, this.LA(1), into)) },
    ]);
  });

  readonly block = this.RULE('block', (into: DirectiveNode[], words: IToken[]) => {
    const nodes: DirectiveNode[] = [];
    const start = this.CONSUME(BlockStart);
    this.ACTION(() => this.#builder.enterBlock());
    this.MANY(() => this.SUBRULE(this.statement, { ARGS: [nodes] }));
    const end = this.OPTION(() => this.CONSUME(BlockEnd));
    this.ACTION(() => this.#builder.block(words, { start, nodes, end }, into));
  });
}

let lexer: Lexer | undefined;
let parser: ConfigParser | undefined;

/** Parses one source in nginx's syntax. Reports every fault and returns the directives that could be read. */
export function parseSource(input: ParseInput): Parsed {
  // Created on first use, because that costs more than parsing a small file.
  lexer ??= new Lexer(tokenTypes, { positionTracking: 'onlyOffset', skipValidations: true });
  parser ??= new ConfigParser();
  const { tokens } = lexer.tokenize(input.source.text);
  const builder = new TreeBuilder(input);
  const directives = parser.parse(builder.limitDepth(tokens), builder);
  return { directives, balanced: builder.finish() };
}

/** Returns the syntax faults of one text: braces, quotes, missing ends. Includes and `${…}` are not resolved. */
export function checkSyntax(source: Source, knownDirective: (name: string) => boolean = () => false): Report {
  const report = new Report();
  report.sources.push(source);
  const opensBlock = () => false;
  const expand = <T>(word: T): T => word;
  parseSource({ source, report, knownDirective, opensBlock, expand, isParameter: false, depth: 0 });
  return report;
}

type IsKnown = (name: string) => boolean;

/**
 * Returns the directives of one text as far as they can be recognized, for editors. `include` is not resolved and
 * `${env:…}` is not expanded.
 */
export function outlineOf(source: Source, knownDirective: IsKnown): readonly DirectiveNode[] {
  const report = new Report();
  const expand = <T>(word: T): T => word;
  const opensBlock = () => false;
  const input = { source, report, knownDirective, opensBlock, expand, isParameter: false, depth: 0 };
  return split(parseSource(input).directives, knownDirective);
}

/** Splits each directive that looks like two of which the first lacks its `;`. */
function split(nodes: readonly DirectiveNode[], knownDirective: IsKnown): readonly DirectiveNode[] {
  return nodes.flatMap((node) => {
    const { args, block, name, span } = node;
    const at = startOfNext(node, knownDirective);
    const next = args[at];
    if (!next) return block ? { ...node, block: split(block, knownDirective) } : node;
    const end = (args[at - 1] ?? name).span.end;
    const rest = { name: next, args: args.slice(at + 1), span: { ...span, start: next.span.start } };
    return [
      { name, args: args.slice(0, at), span: { ...span, end } },
      ...split([{ ...rest, ...(block && { block }) }], knownDirective),
    ];
  });
}
