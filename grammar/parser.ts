import { EmbeddedActionsParser, Lexer } from 'chevrotain';
import type { IToken } from 'chevrotain';
import type { ParseInput } from './parse-input.ts';
import { TreeBuilder } from './build.ts';
import { BlockEnd, BlockStart, LuaBlock, Semicolon, tokenTypes, WordToken } from './tokens.ts';
import type { DirectiveNode } from './tree.ts';

/** What one source holds; `include` is still a directive in it. */
export interface Parsed {
  readonly directives: readonly DirectiveNode[];
  /** False when the braces do not match: a directive may then stand in a block it was not written for. */
  readonly balanced: boolean;
}

/**
 * One method per production. Every sequence of tokens is accepted and the builder reports the faulty ones, so one
 * fault never hides the next:
 *
 *     config    = { statement | "}" (fault) }
 *     statement = directive | ";" (fault) | block (fault)
 *     directive = word { word } ( ";" | block | luaBlock (fault) | (fault) )
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
    return this.config();
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
          this.CONSUME(LuaBlock);
          this.ACTION(() => this.#builder.luaBlock(words));
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

/** Parses one source in nginx's syntax. Reports every fault it finds and gives what could be read all the same. */
export function parseSource(input: ParseInput): Parsed {
  // Made on first use: building them costs more than parsing a small file.
  lexer ??= new Lexer(tokenTypes, { positionTracking: 'onlyOffset', skipValidations: true });
  parser ??= new ConfigParser();
  const { tokens } = lexer.tokenize(input.source.text);
  const builder = new TreeBuilder(input);
  const directives = parser.parse(builder.limitDepth(tokens), builder);
  return { directives, balanced: builder.finish() };
}
