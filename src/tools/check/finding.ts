import type { FaultDetails, Span } from '../../../grammar/index.ts';
import type { RuleSeverity } from '../../contract/index.ts';

/** A finding of a rule at a place of a configuration. */
export interface Finding extends Omit<FaultDetails, 'rule'> {
  /** `GW301`. */
  readonly rule: string;
  /** `alias-traversal`. */
  readonly slug: string;
  readonly severity: RuleSeverity;
  readonly message: string;
  /** Absent if the finding is not about a text, such as a file that cannot be read. */
  readonly span?: Span;
  /** The file, if there is no span. */
  readonly file?: string;
  /** The label next to the carets. */
  readonly label?: string;
  /** True if the configuration does not load because of it: only `--ignore` hides it. */
  readonly refuses?: true;
  /** Identifies the finding when lines move, if requested: see `fingerprintsOf`. */
  readonly fingerprint?: string;
}

/** An ignored finding with the reason. */
export interface SuppressedFinding extends Finding {
  readonly suppression: {
    /** The source of the decision: a comment, the `check` block, or a baseline. */
    readonly by: 'comment' | 'configuration' | 'baseline';
    readonly reason: string;
  };
}
