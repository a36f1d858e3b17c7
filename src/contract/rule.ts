import type { ConfigTree, DirectiveNode, FaultDetails, Span } from '../../grammar/index.ts';
import type { BlockView, BoundConfig, Context, Registry } from '../config/index.ts';

/** `error`: the configuration does not load or has a security hole. `warning`: very likely wrong. `info`: advice. */
export type RuleSeverity = 'error' | 'warning' | 'info';

/** A rule of `gw check`. Its examples are tests, and `gw why` shows them. */
export interface Rule<Config extends CheckedConfig = CheckedConfig> {
  /** `GW301`. An id never changes and is never reused. */
  readonly id: `GW${number}`;
  /** The readable name: `alias-traversal`. */
  readonly slug: string;
  readonly severity: RuleSeverity;
  /** True if the rule applies only when selected. */
  readonly off?: true;
  /** True if the rule needs `--live`: its findings come from a database, a store or a certificate. */
  readonly live?: true;
  /** The fault that the rule finds, in one line of text. */
  readonly summary: string;
  /** The consequence of ignoring it. */
  readonly why: string;
  /** How to fix it. */
  readonly fix: string;
  readonly bad: Example;
  readonly good: Example;
  /** Absent if the load reports it and names this rule in its faults. */
  readonly check?: (config: Config) => Iterable<Problem>;
}

/** A piece of configuration inside the block `in`; default: `server`. */
export interface Example {
  readonly in?: 'main' | 'http' | 'server' | 'location';
  readonly text: string;
  /** Files that the example needs, by name. */
  readonly files?: Readonly<Record<string, string | MadeFile>>;
}

/** A generated file: a certificate that is valid for some days, the key of a certificate, or a text with a mode. */
export type MadeFile =
  | { readonly names: readonly string[]; readonly days: number }
  | {
      readonly keyOf: string;
      /** The file's mode; default: readable by its owner only. */
      readonly mode?: number;
    }
  | { readonly text: string; readonly mode: number };

/** One finding of a rule. */
export interface Problem extends Omit<FaultDetails, 'rule'> {
  readonly at: Span | DirectiveNode;
  /** One line, lower case, no full stop; the subject in double quotes. */
  readonly message: string;
  /** The text under the caret line: `alias has one`. */
  readonly label?: string;
  /** Overrides the severity of the rule. */
  readonly severity?: RuleSeverity;
}

/** A directive and its block. */
export interface Use {
  readonly node: DirectiveNode;
  readonly block: BlockView;
}

/** A configuration as the rules see it. */
export interface CheckedConfig {
  readonly main: BlockView;
  readonly tree: ConfigTree;
  readonly bound: BoundConfig;
  readonly registry: Registry;
  /** Returns all blocks of these contexts in file order; without contexts, all blocks. */
  blocks(...contexts: readonly Context[]): readonly BlockView[];
  /** Returns every use of these directives in file order. */
  uses(...directives: readonly string[]): readonly Use[];
  /** Returns the blocks that contain one of these directives, each once. */
  blocksWith(...directives: readonly string[]): ReadonlySet<BlockView>;
  /** Returns the `upstream` block with a name. */
  upstream(name: string): BlockView | undefined;
  /**
   * Returns the texts that a value with variables can have, as far as the configuration determines them; see `UNKNOWN`.
   * With the value's block, a `set` elsewhere counts only if no block around the value sets the variable.
   */
  textsOf(value: string, block?: BlockView): readonly string[];
  /**
   * Returns whether an unknown client is allowed to use a block: a client on another machine without a password,
   * certificate or token. `method` defaults to GET.
   */
  isOpen(block: BlockView, method?: string): boolean;
  /** The addresses of the ports that uWebSockets.js serves where it loads. */
  readonly uwsPorts: ReadonlySet<string>;
  /** Returns whether clients on other machines can reach the server of a block. */
  isPublic(block: BlockView): boolean;
  /** Returns the public ones of the things that modules declare sensitive for a rule. */
  exposed(rule: string): Iterable<Exposed>;
  /** Returns whether requests for which a variable is empty are refused. */
  rejectsEmpty(block: BlockView, variable: string): boolean;
}

/** Stands for the part of a text of `textsOf` that only requests determine. */
export const UNKNOWN = '\0';

/** The hint for locations that must not be public. */
export const KEEP_OUT =
  'add allow and deny, ask for a password, or listen on a loopback address or a Unix socket';

/** The directives that ask clients who they are. Each is `off` or has a first word of its own. */
export const ASKING_WHO = [
  'auth_jwt',
  'auth_api_key',
  'auth_oidc',
  'oidc',
  'auth_basic',
  'auth_request',
] as const;

/** The directives that hold in a block and require a name, a key or a token. */
export function authIn(block: BlockView): readonly DirectiveNode[] {
  return block.effective(...ASKING_WHO).filter(({ args }) => args[0]?.value !== 'off');
}

/** Something that must not be public. */
export interface Sensitive<C> {
  /** Slug of the rule of `gw check` that is broken if it is public. */
  readonly rule: string;
  /** The directive to blame. */
  readonly field: keyof C & string;
  /** The methods concerned; default: GET. */
  readonly methods?: readonly string[];
}

/** A use of a directive that makes something sensitive public. */
export interface Exposed extends Use {
  readonly sensitive: Sensitive<object>;
}

/** A configuration as the rules of one module see it; `C` is the module's config. */
export interface CheckedModule<C extends object> extends CheckedConfig {
  /** Returns the module's config in a block, with inheritance and defaults applied. */
  configIn(block: BlockView): C;
  /** Returns the directives that set a field; empty if it has its default. */
  nodesIn(block: BlockView, field: keyof C & string): readonly DirectiveNode[];
  /** Returns the thing that the module declares sensitive in a block. */
  sensitiveIn(block: BlockView): Sensitive<C> | undefined;
}

/** A rule about the directives of one module. */
export type ModuleRule<C extends object> = Rule<CheckedModule<C>>;
