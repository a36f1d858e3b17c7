import type { FaultDetails, Span } from '../../grammar/index.ts';
import type { RuleSeverity } from '../contract/index.ts';

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
