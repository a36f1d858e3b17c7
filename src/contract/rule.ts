import type { ConfigTree, DirectiveNode, FaultDetails, Span } from '../../grammar/index.ts';
import type { BlockView, BoundConfig, Context, Registry } from '../config/index.ts';

/** `error`: it does not load, or is a hole by itself. `warning`: very likely wrong. `info`: advice. */
export type RuleSeverity = 'error' | 'warning' | 'info';

/** A rule of `gw check`. Its examples are its tests, and what `gw why` shows. */
export interface Rule<Config extends CheckedConfig = CheckedConfig> {
  /** `GW301`: never changes, never comes back for something else. */
  readonly id: `GW${number}`;
  /** The name people use: `alias-traversal`. */
  readonly slug: string;
  readonly severity: RuleSeverity;
  /** Only where it is selected. */
  readonly off?: true;
  /** Only with `--live`: a database, a store or a certificate says so. */
  readonly live?: true;
  /** What it finds, in one line. */
  readonly summary: string;
  /** What goes wrong when it is left alone. */
  readonly why: string;
  /** How to mend it, in words. */
  readonly fix: string;
  readonly bad: Example;
  readonly good: Example;
  /** Absent where the load itself finds it and names this rule in its faults. */
  readonly check?: (config: Config) => Iterable<Problem>;
}

/** A piece of configuration that stands inside `in`: `server` unless it says otherwise. */
export interface Example {
  readonly in?: 'main' | 'http' | 'server' | 'location';
  readonly text: string;
  /** Files beside it, by name. */
  readonly files?: Readonly<Record<string, string | MadeFile>>;
}

/** A file that is more than its text: a certificate is good for so many days, a key belongs to one, a mode matters. */
export type MadeFile =
  | { readonly names: readonly string[]; readonly days: number }
  | {
      readonly keyOf: string;
      /** As chmod takes it; absent: only its owner may read it. */
      readonly mode?: number;
    }
  | { readonly text: string; readonly mode: number };

/** What one rule finds at one place. */
export interface Problem extends Omit<FaultDetails, 'rule'> {
  readonly at: Span | DirectiveNode;
  /** One line, lower case, no full stop, the subject in double quotes. */
  readonly message: string;
  /** What stands under the caret line: `alias has one`. */
  readonly label?: string;
  /** Where it weighs more or less than the rule says. */
  readonly severity?: RuleSeverity;
}

/** A directive and the block that it stands in. */
export interface Use {
  readonly node: DirectiveNode;
  readonly block: BlockView;
}

/** A configuration as rules see it. */
export interface CheckedConfig {
  readonly main: BlockView;
  readonly tree: ConfigTree;
  readonly bound: BoundConfig;
  readonly registry: Registry;
  /** All blocks of these contexts in file order; without contexts, all. */
  blocks(...contexts: readonly Context[]): readonly BlockView[];
  /** Every place where one of these directives stands, in file order. */
  uses(...directives: readonly string[]): readonly Use[];
  /** The blocks in which one of these directives stands, each once. */
  blocksWith(...directives: readonly string[]): ReadonlySet<BlockView>;
  /** The `upstream` block of a name. */
  upstream(name: string): BlockView | undefined;
  /** The texts that a value with variables can have, as far as the configuration itself names them; see `UNKNOWN`. */
  textsOf(value: string): readonly string[];
  /**
   * Whether somebody whom the configuration knows nothing of gets through to what answers in a block: a request (GET
   * unless it says otherwise) from another machine, without password, certificate or token.
   */
  isOpen(block: BlockView, method?: string): boolean;
  /** True when requests from other machines come to the server that a block is in. */
  isPublic(block: BlockView): boolean;
  /** What modules call sensitive under the name of a rule, wherever strangers get at it. */
  exposed(rule: string): Iterable<Exposed>;
  /** Whether requests are turned away that leave a variable empty. */
  rejectsEmpty(block: BlockView, variable: string): boolean;
}

/** Stands in a text of `textsOf` for what only requests know. */
export const UNKNOWN = '\0';

/** How to keep strangers out of a location. */
export const KEEP_OUT =
  'add allow and deny, ask for a password, or listen on a loopback address or a Unix socket';

/** Something that not everybody may do or see. */
export interface Sensitive<C> {
  /** Slug of the rule of `gw check` that is broken where strangers get at it. */
  readonly rule: string;
  /** The directive to blame. */
  readonly field: keyof C & string;
  /** The methods that do it; absent: GET. */
  readonly methods?: readonly string[];
}

/** A place that strangers get at, and what they find there. */
export interface Exposed extends Use {
  readonly sensitive: Sensitive<object>;
}

/** A configuration as the rules of one module see it: `C` is the module's config. */
export interface CheckedModule<C extends object> extends CheckedConfig {
  /** The module's config in a block, inheritance and defaults done. */
  configIn(block: BlockView): C;
  /** The directives that gave a field of it; none where it has its default. */
  nodesIn(block: BlockView, field: keyof C & string): readonly DirectiveNode[];
  /** What the module calls sensitive in a block. */
  sensitiveIn(block: BlockView): Sensitive<C> | undefined;
}

/** A rule about the directives of one module. */
export type ModuleRule<C extends object> = Rule<CheckedModule<C>>;
