import type { ConfigTree, DirectiveNode, FaultDetails, Span } from '../../grammar/index.ts';
import type { BlockView, BoundConfig, Context, Registry } from '../config/index.ts';
import type { AnyModule } from '../contract/index.ts';
import type { GatewayPlan } from '../plan/index.ts';

/** `error`: it does not load, or is a hole by itself. `warning`: very likely wrong. `info`: advice. */
export type RuleSeverity = 'error' | 'warning' | 'info';

/** A rule of `gw check`. Its examples are its tests, and what `gw why` shows. */
export interface Rule {
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
  readonly check?: (config: CheckedConfig) => Iterable<Problem>;
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
  /** All blocks of these contexts in file order; without contexts, all. */
  blocks(...contexts: readonly Context[]): readonly BlockView[];
  /** Every place where one of these directives stands, in file order. */
  uses(...directives: readonly string[]): readonly Use[];
  readonly tree: ConfigTree;
  readonly bound: BoundConfig;
  readonly registry: Registry;
  readonly modules: readonly AnyModule[];
  /** Absent when the configuration does not load. */
  readonly plan: GatewayPlan | undefined;
}

/** What is wrong at one place of a configuration. */
export interface Finding extends Omit<FaultDetails, 'rule'> {
  /** `GW301`. */
  readonly rule: string;
  /** `alias-traversal`. */
  readonly slug: string;
  readonly severity: RuleSeverity;
  readonly message: string;
  /** Absent where no text is to blame: a file that cannot be read. */
  readonly span?: Span;
  /** Without a span: the file that it is about. */
  readonly file?: string;
  /** What stands beside the caret. */
  readonly label?: string;
  /** The configuration does not load because of it: nothing but `--ignore` hides it. */
  readonly refuses?: true;
  /** Stays when lines move, for those who asked for it: see `fingerprintsOf`. */
  readonly fingerprint?: string;
}

/** A finding that somebody has decided to live with, and why. */
export interface SuppressedFinding extends Finding {
  readonly suppression: {
    /** A comment beside it; the `check` block; a baseline. */
    readonly by: 'comment' | 'configuration' | 'baseline';
    readonly reason: string;
  };
}
